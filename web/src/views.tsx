import type { ComponentType, JSX } from 'preact'
import { ActionsView } from './actions/actions-view.tsx'
import { DeletedView } from './actions/deleted-view.tsx'
import { DuplicatesView } from './duplicates/duplicates-view.tsx'
import { ImportView } from './import/import-view.tsx'
import { LabelsView } from './labels/labels-view.tsx'
import type { PlainKey } from './language/texts.ts'
import type { IconName } from './page/icon.tsx'
import { AddView } from './plants/change/add-plant.tsx'
import { WaitingView } from './plants/change/waiting-view.tsx'
import { PlantView } from './plants/look/plant-view.tsx'
import { PlantsView } from './plants/look/plants-view.tsx'
import { ScanView } from './plants/look/scan-view.tsx'
import type { Session, ViewProps } from './session/session.ts'
import { stocktake } from './stocktake/kept-stocktake.ts'
import { StocktakeView } from './stocktake/stocktake-view.tsx'
import { TokensView } from './tokens/tokens-view.tsx'
import { WebhooksView } from './webhooks/webhooks-view.tsx'

export interface View {
  /** The path in the fragment of the address, such as `plants` in `#/plants`. */
  readonly name: string
  readonly title: PlainKey
  /** In the navigation, where it is not the title. */
  readonly tab?: PlainKey
  /** The icon of a view that has a place in the bar of a narrow window. The others stand in its menu. */
  readonly icon?: IconName
  /** The view whose links lead here. The navigation has no other. */
  readonly under?: string
  /** Whether a token with these rights sees the view. */
  readonly isFor: (may: Session['may']) => boolean
  readonly Component: ComponentType<ViewProps>
}

const mayRead: View['isFor'] = (may) => may('plants:read')
const mayReadMore: View['isFor'] = (may) => may('more')

export const VIEWS: readonly View[] = [
  { name: 'plants', title: 'view.plants', icon: 'plant', isFor: mayRead, Component: Plants },
  {
    name: 'add',
    title: 'plants.add',
    icon: 'add',
    isFor: (may) => may('plants:write') && !may('plants:read'),
    Component: AddView,
  },
  { name: 'scan', title: 'view.scan', tab: 'scan.open', icon: 'camera', isFor: mayRead, Component: ScanView },
  { name: 'stocktake', title: 'view.stocktake', icon: 'tick', isFor: mayReadMore, Component: StocktakeView },
  { name: 'import', title: 'view.import', isFor: (may) => may('plants:write'), Component: ImportView },
  { name: 'labels', title: 'view.labels', isFor: mayReadMore, Component: LabelsView },
  { name: 'plant', title: 'view.plant', under: 'plants', isFor: mayRead, Component: PlantView },
  { name: 'duplicates', title: 'view.duplicates', under: 'plants', isFor: mayReadMore, Component: DuplicatesView },
  {
    name: 'waiting',
    title: 'waiting.title',
    under: 'plants',
    isFor: (may) => may('plants:write'),
    Component: WaitingView,
  },
  {
    name: 'actions',
    title: 'view.actions',
    under: 'plants',
    isFor: mayReadMore,
    Component: ActionsView,
  },
  { name: 'deleted', title: 'view.deleted', under: 'plants', isFor: mayReadMore, Component: DeletedView },
  { name: 'tokens', title: 'view.tokens', isFor: (may) => may('tokens'), Component: TokensView },
  { name: 'webhooks', title: 'view.webhooks', isFor: (may) => may('webhooks'), Component: WebhooksView },
]

export const viewsFor = ({ may }: Session): readonly View[] => VIEWS.filter(({ isFor }) => isFor(may))

function Plants({ session }: ViewProps): JSX.Element {
  return <PlantsView session={session} isCounting={stocktake.value !== undefined} />
}
