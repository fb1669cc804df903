import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { PUBLIC_URL } from '../codes/service-address.tsx'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { Button } from '../page/controls.tsx'
import { focusMain } from '../page/focus.ts'
import { inEnglish } from '../page/named.ts'
import { Sentence } from '../page/sentence.tsx'
import { CameraError, type CameraFault, scan } from './camera.ts'

interface CameraProps {
  /** Called with the text of a code, once for as long as it stays in the picture. */
  readonly onCode: (text: string) => void
}

/** Shows the picture of the camera while the view is open and the tab is visible. The camera waits while the person types. */
export function Camera({ onCode }: CameraProps): JSX.Element {
  const { video, fault, isOpen, isWaiting, again } = useCamera(onCode)
  return (
    <div class="camera">
      <div class={isOpen.value ? 'picture' : 'picture closed'} hidden={fault.value !== undefined}>
        <video ref={video} muted playsInline aria-label={say('scan.picture')} />
      </div>
      {fault.value === undefined ? (
        <p role="status" class="note">
          {!isOpen.value && say('scan.opening')}
          {isOpen.value && say(isWaiting.value ? 'scan.waiting' : 'scan.hold')}
        </p>
      ) : (
        <Unreadable fault={fault.value} onRetry={again} />
      )}
    </div>
  )
}

/** Opens the camera while the tab is visible. */
function useCamera(onCode: (text: string) => void) {
  const video = useRef<HTMLVideoElement>(null)
  const take = useRef(onCode)
  take.current = onCode
  const fault = useSignal<CameraError | undefined>(undefined)
  const isOpen = useSignal(false)
  const isWaiting = useSignal(false)
  const tries = useSignal(0)
  useEffect(() => {
    let ending: AbortController | undefined
    const open = async (signal: AbortSignal) => {
      isOpen.value = false
      fault.value = undefined
      const scanning = {
        onOpen: () => {
          isOpen.value = true
        },
        onCode: (text: string) => take.current(text),
        isWaiting: () => {
          isWaiting.value = document.activeElement?.matches(TYPING) ?? false
          return isWaiting.value
        },
      }
      try {
        if (video.current !== null) await scan(video.current, scanning, signal)
      } catch (error) {
        if (error instanceof CameraError && !signal.aborted) fault.value = error
      }
      if (!signal.aborted) isOpen.value = false
    }
    const follow = () => {
      ending?.abort()
      if (document.hidden) return
      ending = new AbortController()
      void open(ending.signal)
    }
    document.addEventListener('visibilitychange', follow)
    follow()
    return () => {
      document.removeEventListener('visibilitychange', follow)
      ending?.abort()
    }
  }, [tries.value])
  const again = () => {
    tries.value += 1
  }
  return { video, fault, isOpen, isWaiting, again }
}

interface UnreadableProps {
  readonly fault: CameraError
  readonly onRetry: () => void
}

/** Says why there is no picture. */
function Unreadable({ fault: { fault, message }, onRetry }: UnreadableProps): JSX.Element {
  return (
    <>
      <div role="alert">
        {fault === 'other' ? (
          <p>
            <Sentence text={say('scan.failed', { why: inEnglish(message) })} />
          </p>
        ) : (
          <p>{say(SAID[fault])}</p>
        )}
        {fault === 'insecure' && <SecureAddress />}
      </div>
      {fault !== 'insecure' && (
        <Button
          text={say('page.tryAgain')}
          onClick={() => {
            // Some browsers remember that a script did not load, and never try again.
            if (fault === 'no-reader') return location.reload()
            // Otherwise a field gets the focus of the button, and the camera waits.
            focusMain()
            onRetry()
          }}
        />
      )}
    </>
  )
}

/** Elements in which a person types or answers: a code that is read meanwhile would take the form away. */
const TYPING = 'input:not([type=checkbox], [type=radio]), textarea, select, dialog *'

const SAID: Readonly<Record<Exclude<CameraFault, 'other'>, PlainKey>> = {
  insecure: 'scan.insecure',
  refused: 'scan.refused',
  absent: 'scan.absent',
  busy: 'scan.busy',
  ended: 'scan.ended',
  'no-reader': 'scan.noReader',
}

/** Leads to the page at the address that the operator gave for clients, if the camera works there. */
function SecureAddress(): JSX.Element | null {
  if (!PUBLIC_URL.startsWith('https:') || location.protocol === 'https:') return null
  const address = `${PUBLIC_URL}/${location.hash}`
  return (
    <p>
      <a href={address}>{say('scan.openAt', { address })}</a>
    </p>
  )
}
