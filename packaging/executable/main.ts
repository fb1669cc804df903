import { setFlagsFromString } from 'node:v8'
import { main } from '../../src/cli/main.ts'

// As in bin/plantstore.js, where the reasons are.
setFlagsFromString('--heap-growing-percent=30')
setFlagsFromString('--max-semi-space-size=2')
void main(process.argv)
