/** What the service says of itself in the page, by the name of an element `meta`. */
export const factOf = (name: string): string | undefined =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content
