import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tarball } from '../../../scripts/package/tarball.ts'
import { SCOPES } from '../../../src/domain/token.ts'
import { tempFolder } from '../../support/files.ts'
import { notTestedHere, runs } from '../../support/not-tested.ts'
import { canLayer, inNamespace, LAYERED_ROOT } from './layered-root.ts'
import { createsPlant, linesFor } from './support.ts'

const hasAnalyzer = runs('systemd-analyze', '--version')
/** systemd-analyze rates an exposure below 5.0 as OK. */
const SYSTEMD = hasAnalyzer
  ? `said=$(systemd-analyze verify plantstore.service 2>&1) || fail "$said"
[ -z "$said" ] || fail "$said"
systemd-analyze security --offline=true --threshold=49 /etc/systemd/system/plantstore.service > /dev/null`
  : ''

test('the lines of the guide install a service from the archive, which creates a plant', async (t) => {
  const folder = tempFolder(t)
  if (!canLayer(folder)) return notTestedHere(t, 'install.sh, which needs root and a layered root')
  const [archives, layer] = [join(folder, 'archives'), join(folder, 'layer')]
  for (const each of [archives, layer]) mkdirSync(each)
  tarball(archives)
  const install = linesFor('tar -xzf').replaceAll('sudo ', '')
  const list = linesFor('sudo -u plantstore')
    .replace('sudo -u', 'runuser -u')
    .replace('plantstore /', 'plantstore -- /')
  const serve = '/opt/plantstore/bin/plantstore serve --config /etc/plantstore/plantstore.conf'
  const inside = `fail() { echo "$1" >&2; exit 1; }
cd /installing
# As on a bare Debian or Ubuntu.
rm -f /usr/lib/*/libatomic.so.1*
mkdir /opt/plantstore
if (set -e; ${install.trim().replaceAll('\n', '; ')}) > refused 2>&1; then fail 'another folder was replaced'; fi
grep -q '^install.sh: /opt/plantstore is a folder that this script did not make' refused || fail "$(cat refused)"
rmdir /opt/plantstore
${install}
[ "$(getent passwd plantstore | cut -d: -f6,7)" = /nonexistent:/usr/sbin/nologin ] || fail 'another user'
modes=$(stat -c %U:%a /var/lib/plantstore /var/lib/plantstore/plants.db /etc/plantstore/plantstore.conf | tr '\\n' ' ')
[ "$modes" = 'plantstore:700 plantstore:600 root:640 ' ] || fail "$modes"
if runuser -u plantstore -- find -L /opt /etc/plantstore -writable | grep .; then fail 'the user may write these'; fi
# Again, as an upgrade does: the settings stay, and no second token is made.
echo PLANTSTORE_LOG_LEVEL=warn >> /etc/plantstore/plantstore.conf
chmod 600 /etc/plantstore/plantstore.conf
sh plantstore-*/install.sh > again
if grep Token again; then fail 'a second token'; fi
[ "$(stat -c %G:%a /etc/plantstore/plantstore.conf)" = plantstore:640 ] || fail 'the service may not read its settings'
grep -q LOG_LEVEL /etc/plantstore/plantstore.conf || fail 'the settings are gone'
# The folder of the archive is root's.
cd /
[ "$(${list.trim()} | grep -c 'tok_.* administrator  *${SCOPES.join()} ')" = 1 ] || fail 'not one token with all scopes'
${SYSTEMD}
exec setpriv --reuid plantstore --regid plantstore --clear-groups ${serve}`
  const script = `${LAYERED_ROOT}
mkdir "$1/root/installing"
cp "$2"/* "$1/root/installing"
exec chroot "$1/root" sh -e -c "$3"`
  const env = { HOME: '/nonexistent', NODE_COMPILE_CACHE: '' }
  await createsPlant(t, inNamespace(script, layer, archives, inside), folder, { env })
  if (!hasAnalyzer) notTestedHere(t, 'systemd-analyze')
})
