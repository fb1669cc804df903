import type { SettingValues } from '../../src/settings/config.ts'
import { BOUND_CASES } from './bound-cases.ts'
import type { CasesOf } from './case.ts'
import { LOG_CASES } from './log-cases.ts'
import { NETWORK_CASES } from './network-cases.ts'
import { PROVIDER_CASES } from './provider-cases.ts'
import { STORE_CASES } from './store-cases.ts'
import { WEBHOOK_CASES } from './webhook-cases.ts'
import { WORK_CASES } from './work-cases.ts'

/** The cases of every setting. */
export const CASES: CasesOf<keyof SettingValues> = {
  ...NETWORK_CASES,
  ...PROVIDER_CASES,
  ...STORE_CASES,
  ...LOG_CASES,
  ...BOUND_CASES,
  ...WORK_CASES,
  ...WEBHOOK_CASES,
}
