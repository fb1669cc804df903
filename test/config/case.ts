import type { SettingValues } from '../../src/settings/config.ts'

/** Two or more valid texts of a setting with their values, and some invalid texts. */
export interface Case<T> {
  readonly right: readonly (readonly [string, T])[]
  readonly wrong: readonly string[]
}

export type CasesOf<Key extends keyof SettingValues> = { readonly [K in Key]: Case<SettingValues[K]> }
