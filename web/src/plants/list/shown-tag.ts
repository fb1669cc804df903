import { say } from '../../language/language.ts'

/** The beginning of tags, which is no tag itself. */
export const shownGroup = (prefix: string): string => `${prefix}…`

/** The empty tag is a tag too, and needs a visible text. */
export const shownTag = (tag: string): string => (tag === '' ? say('plants.emptyTag') : tag)
