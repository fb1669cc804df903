import '../../src/cli/v8-flags.ts'
import { main } from '../../src/cli/main.ts'

void main(process.argv)
