import type { JSX } from 'preact'
import type { StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { Button } from '../../page/controls.tsx'
import { Further } from '../../page/further.tsx'
import { linkTo, queryOf } from '../../page/route.ts'
import type { PlantChanges } from '../change/changes.ts'
import { RowEditor } from '../change/row-editor.tsx'
import { WaitingMark } from '../change/waiting-mark.tsx'
import { TagChip } from '../find/tag-chip.tsx'
import { rowOf } from './row.ts'

interface CardProps {
  readonly plant: StoredPlant
  /** undefined: the token may not change plants. */
  readonly changes: PlantChanges | undefined
  /** Of the name: `h2` where the view has a title of its own. */
  readonly Heading: 'h1' | 'h2'
  /** Whether the person may print labels. */
  readonly mayPrint: boolean
  readonly onCopy: () => void
}

/** A plant alone, or its editor, with the keys of a row of the table. What takes the plant away is behind a menu. */
export function PlantCard({ plant, changes, Heading, mayPrint, onCopy }: CardProps): JSX.Element {
  const remove = () => void changes?.delete(plant)
  const { id, name, tag, isLeaving, editor, edit, onKeyDown } = rowOf(plant, changes, { remove })
  const title = name === '' ? say('plant.title', { id }) : name
  const mayChange = changes !== undefined && !isLeaving
  return (
    <div role="grid" class="plants one" aria-label={say('plant.title', { id })}>
      {editor !== undefined && (
        <Heading class="hidden" translate={false}>
          {title}
        </Heading>
      )}
      <div
        role="row"
        class={editor === undefined ? 'card-row' : 'row editing'}
        data-id={id}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        {editor !== undefined ? (
          <RowEditor {...editor} />
        ) : (
          <>
            <span role="gridcell" class="name">
              <Heading dir="auto" translate={false}>
                {isLeaving ? <s>{title}</s> : title}
              </Heading>
              <WaitingMark id={plant.id} tabIndex={0} />
            </span>
            <span role="gridcell" class="tag">
              {tag !== undefined && <TagChip tag={tag} />}
            </span>
            <span role="gridcell" class="number">
              {say('plant.number', { id })}
            </span>
            <span role="gridcell" class="actions">
              {mayChange && <Button text={say('plants.edit')} class="primary" of={id} onClick={edit} />}
              {mayPrint && (
                <a class="button" href={linkTo('labels', queryOf(id))}>
                  {say('plants.printLabels')}
                </a>
              )}
              {mayChange && <More id={id} onCopy={onCopy} onDelete={remove} />}
            </span>
          </>
        )}
      </div>
    </div>
  )
}

interface MoreProps extends Pick<CardProps, 'onCopy'> {
  readonly id: string
  readonly onDelete: () => void
}

const More = ({ id, onCopy, onDelete }: MoreProps): JSX.Element => (
  <Further label={say('page.about', { what: say('bulk.further'), of: id })}>
    <Button text={say('plants.another')} onClick={onCopy} />
    <Button text={say('plants.delete')} class="danger" of={id} onClick={onDelete} />
  </Further>
)
