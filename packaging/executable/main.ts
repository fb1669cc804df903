import { setFlagsFromString } from 'node:v8'
import { main } from '../../src/cli/main.ts'

// The same V8 flags as in bin/plantstore.js, which gives the reasons.
setFlagsFromString('--heap-growing-percent=30')
setFlagsFromString('--max-semi-space-size=2')
setFlagsFromString('--no-allocation-site-pretenuring')
void main(process.argv)
