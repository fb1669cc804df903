import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { KeptPlant, StoredPlant } from '../../../../client/src/index.ts'
import { say, sayOf } from '../../language/language.ts'
import { Button } from '../../page/controls.tsx'
import { Sentence } from '../../page/sentence.tsx'
import { changeDraft, type Draft, dropDraft, wanted } from '../list/drafts.ts'
import { focusEditor, focusRow } from '../list/grid-keys.ts'
import type { PlantChanges } from './changes.ts'
import { ConflictDialog } from './conflict-dialog.tsx'
import { TooLong } from './plant-fields.tsx'

interface EditorProps {
  readonly draft: Draft
  readonly changes: PlantChanges
}

/** Edits a plant in its row. Enter saves, Shift+Enter inserts a line break, Escape discards the edit. */
export function RowEditor({ draft, changes }: EditorProps): JSX.Element {
  const { base, name = base.name, tag = base.tag ?? '', isSaving = false, fault = '', theirs } = draft
  const id = String(base.id)
  const leave = () => {
    dropDraft(base.id)
    focusRow(id)
  }
  const save = async () => {
    if (!isSaving && (await changes.save(draft))) focusRow(id)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return
    if (event.key === 'Escape') leave()
    else if (event.key === 'Enter' && !event.shiftKey && event.target instanceof HTMLTextAreaElement) void save()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <>
      <span role="gridcell" class="id" translate={false}>
        {id}
      </span>
      <span role="gridcell" class="name" onKeyDown={onKeyDown}>
        <TextField member="name" id={id} value={name} onInput={(text) => changeDraft(base.id, { name: text })} />
        {fault !== '' && (
          <span role="alert">
            <Sentence text={fault} />
          </span>
        )}
      </span>
      <span role="gridcell" class="tag" onKeyDown={onKeyDown}>
        <TextField member="tag" id={id} value={tag} onInput={(text) => changeDraft(base.id, { tag: text })} />
      </span>
      <span role="gridcell" class="actions" onKeyDown={onKeyDown}>
        <Button text={say('plants.save')} class="primary" isBusy={isSaving} onClick={() => void save()} />
        <Button text={say('plants.cancel')} onClick={leave} />
        {theirs !== undefined && <Conflict draft={draft} theirs={theirs} changes={changes} />}
      </span>
    </>
  )
}

interface ConflictProps extends EditorProps {
  readonly theirs: KeptPlant | null
}

function Conflict({ draft, theirs, changes }: ConflictProps): JSX.Element {
  const id = String(draft.base.id)
  const goOn = (base: StoredPlant) => {
    changeDraft(base.id, { theirs: undefined, base })
    focusEditor(id)
  }
  return (
    <ConflictDialog
      changes={[{ id: draft.base.id, base: draft.base, wanted: wanted(draft), theirs }]}
      onYield={() => {
        changes.yield(draft, theirs)
        focusRow(id)
      }}
      onOverwrite={async () => {
        changeDraft(draft.base.id, { theirs: undefined })
        if (await changes.overwrite(draft, theirs)) focusRow(id)
      }}
      later="plants.goOnEditing"
      onLater={() => goOn(theirs?.plant ?? draft.base)}
      onCancel={() => goOn(draft.base)}
    />
  )
}

interface FieldProps {
  readonly member: 'name' | 'tag'
  readonly id: string
  readonly value: string
  readonly onInput: (text: string) => void
}

interface Caret {
  readonly label: string
  readonly start: number
  readonly end: number
}

/** The caret of the field that had the focus when its editor left the document. */
let left: Caret | undefined

/** The caret of the focused field, which is that of an editor about to leave the document, or of one that has left. */
function movingCaret(): Caret | undefined {
  const focused = document.activeElement
  if (!(focused instanceof HTMLTextAreaElement)) return left
  return { label: focused.ariaLabel ?? '', start: focused.selectionStart, end: focused.selectionEnd }
}

/**
 * A text area, because an input drops the line breaks that a name may have. It keeps the focus when a new list of
 * plants moves its editor to another place of the page: the person may be typing.
 */
function TextField({ member, id, value, onInput }: FieldProps): JSX.Element {
  const label = sayOf(`plants.${member}`, id)
  const place = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    const field = place.current
    const caret = movingCaret()
    if (caret?.label === label) {
      field?.focus()
      field?.setSelectionRange(caret.start, caret.end)
    }
    return () => {
      if (document.activeElement !== field) return
      left = movingCaret()
      // The editor has its new place by then, if it gets one.
      requestAnimationFrame(() => {
        left = undefined
      })
    }
  }, [label])
  return (
    <>
      <span class="note" aria-hidden="true">
        {say(`plants.${member}`)}
      </span>
      <textarea
        ref={place}
        rows={1}
        dir="auto"
        aria-label={label}
        autocomplete="off"
        enterkeyhint="done"
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <TooLong member={member} text={value} />
    </>
  )
}
