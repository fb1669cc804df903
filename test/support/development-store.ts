/** What a command says of a store that a version before 1.0.0 made. */
export const DEVELOPMENT_STORE =
  /: a development version made it; export its plants with that version, and import them into a new store\n$/
