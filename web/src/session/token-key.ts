import { storedAs } from '../page/stored.ts'

/** Where both pages, at / and /docs, keep the token of a person, so that signing in at one signs in at the other. */
export const KEY = storedAs('plantstore-token')
