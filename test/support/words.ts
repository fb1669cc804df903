/** The parts of a text that stand between blanks and line ends, as they are written. */
export const words = ({ raw }: TemplateStringsArray): string[] => raw.join('').trim().split(/\s+/)
