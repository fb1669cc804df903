/** ms until the browser has certainly read the file. */
const TAKEN = 60_000

/** Downloads a file that the page made. */
export function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), TAKEN)
}
