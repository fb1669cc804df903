import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import type { ViewProps } from '../session/session.ts'
import { ChooseSet } from './choose-set.tsx'
import { Counting } from './counting.tsx'
import { stocktake } from './kept-stocktake.ts'

/** Compares the plants of a set with those that are really there. */
export function StocktakeView({ session }: ViewProps): JSX.Element {
  const { value: current } = stocktake
  return (
    <>
      <h1>{say('view.stocktake')}</h1>
      {current === undefined ? (
        <ChooseSet session={session} />
      ) : (
        <Counting key={current.begun} session={session} stocktake={current} />
      )}
    </>
  )
}
