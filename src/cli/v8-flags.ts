// Flags of V8 that hold from the start of a command on, in every package. The young generation of the main thread has
// its size before: by the first line of bin/plantstore.js.
import { setFlagsFromString } from 'node:v8'

// By default V8 lets the old generation grow to three times its live size before it collects garbage.
setFlagsFromString('--heap-growing-percent=30')
// For the threads, which would take the 12 MiB of the main thread too. They gain no speed from a larger young generation.
setFlagsFromString('--max-semi-space-size=2')
// By default V8 allocates objects in the old generation if most objects of their allocation site lived long. Such an
// object keeps its request in memory until V8 collects the old generation. In half of the runs, reads fell to 0.65 of
// their speed, and V8 collected the old generation ten times as often.
setFlagsFromString('--no-allocation-site-pretenuring')
