import type { ComponentType } from 'preact'
import { ImportView } from './import/import-view.tsx'
import { LabelsView } from './labels/labels-view.tsx'
import { AddView } from './plants/add-view.tsx'
import { PlantView } from './plants/plant-view.tsx'
import { PlantsView } from './plants/plants-view.tsx'
import type { Session } from './session.ts'
import { TokensView } from './tokens/tokens-view.tsx'

export interface View {
  /** The path in the fragment of the address, such as `plants` in `#/plants`. */
  readonly name: string
  readonly title: string
  /** Whether the navigation leaves the view out: only links lead to it. */
  readonly isLinked?: boolean
  /** Whether a token with these scopes sees the view. */
  readonly isFor: (may: Session['may']) => boolean
  readonly Component: ComponentType<ViewProps>
}

export interface ViewProps {
  readonly session: Session
}

export const VIEWS: readonly View[] = [
  { name: 'plants', title: 'Plants', isFor: (may) => may('plants:read'), Component: PlantsView },
  { name: 'add', title: 'Add', isFor: (may) => may('plants:write') && !may('plants:read'), Component: AddView },
  { name: 'import', title: 'Import', isFor: (may) => may('plants:write'), Component: ImportView },
  { name: 'labels', title: 'Labels', isFor: (may) => may('plants:read'), Component: LabelsView },
  { name: 'plant', title: 'Plant', isLinked: true, isFor: (may) => may('plants:read'), Component: PlantView },
  { name: 'tokens', title: 'Tokens', isFor: (may) => may('tokens'), Component: TokensView },
]

export const viewsFor = ({ may }: Session): readonly View[] => VIEWS.filter(({ isFor }) => isFor(may))
