import type { ComponentType } from 'preact'
import { ImportView } from './import/import-view.tsx'
import { LabelsView } from './labels/labels-view.tsx'
import type { PlainKey } from './language/texts.ts'
import { AddView } from './plants/add-view.tsx'
import { DuplicatesView } from './plants/duplicates-view.tsx'
import { PlantView } from './plants/plant-view.tsx'
import { PlantsView } from './plants/plants-view.tsx'
import { ScanView } from './scan/scan-view.tsx'
import type { Session } from './session.ts'
import { StocktakeView } from './stocktake/stocktake-view.tsx'
import { TokensView } from './tokens/tokens-view.tsx'
import { WebhooksView } from './webhooks/webhooks-view.tsx'

export interface View {
  /** The path in the fragment of the address, such as `plants` in `#/plants`. */
  readonly name: string
  readonly title: PlainKey
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
  { name: 'plants', title: 'view.plants', isFor: (may) => may('plants:read'), Component: PlantsView },
  { name: 'add', title: 'view.add', isFor: (may) => may('plants:write') && !may('plants:read'), Component: AddView },
  { name: 'import', title: 'view.import', isFor: (may) => may('plants:write'), Component: ImportView },
  { name: 'labels', title: 'view.labels', isFor: (may) => may('plants:read'), Component: LabelsView },
  { name: 'scan', title: 'view.scan', isLinked: true, isFor: (may) => may('plants:read'), Component: ScanView },
  {
    name: 'stocktake',
    title: 'view.stocktake',
    isLinked: true,
    isFor: (may) => may('plants:read'),
    Component: StocktakeView,
  },
  { name: 'plant', title: 'view.plant', isLinked: true, isFor: (may) => may('plants:read'), Component: PlantView },
  {
    name: 'duplicates',
    title: 'view.duplicates',
    isLinked: true,
    isFor: (may) => may('plants:read'),
    Component: DuplicatesView,
  },
  { name: 'tokens', title: 'view.tokens', isFor: (may) => may('tokens'), Component: TokensView },
  { name: 'webhooks', title: 'view.webhooks', isFor: (may) => may('webhooks'), Component: WebhooksView },
]

export const viewsFor = ({ may }: Session): readonly View[] => VIEWS.filter(({ isFor }) => isFor(may))
