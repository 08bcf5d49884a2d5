/** Path traversal tests: `..` in every field of every source (for CSI and claims:
 *  `paths-of-claims.node.test.ts`). It is rejected, or no program argument or mount leads outside because
 *  of it. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import type { SourceFields, SourceServices } from '../contract/source.ts';
import { createFlexDrivers } from '../flex/drivers.ts';
import { createTestRequest, type TestRequest, testSecret } from '../network/request.fixture.ts';
import { ESCAPES, replaced, textsIn } from './escapes.fixture.ts';
import { testSpecs } from './specs.fixture.ts';
import { PERSISTENT_SOURCES, POD_SOURCES } from './table.ts';

/** Longer than any step here; sources that wait for devices or servers have started their programs by
 *  then. */
const ENOUGH_MS = 150;

/** Fields whose value is passed on as one word that is not interpreted as a path of this node. */
const PASSED_ON: Readonly<Record<string, string>> = {
  'flexVolume.fsType': 'an entry of the JSON that the driver reads',
  'flexVolume.options.path': 'an entry of the JSON that the driver reads',
};

const FIELDS = Object.entries(testSpecs('/')).flatMap(([source, spec]) => textsIn(spec, source));

const climbs = (word: string): boolean => word.includes('..');

/** Returns services with everything that a source may check before it validates the field. */
async function servicesOf(t: TestRequest): Promise<SourceServices> {
  t.secrets.set('default/s', testSecret('default', 's', { k: 'v', username: 'u', password: 'p' }));
  t.endpoints.set('default/gluster', { subsets: [{ addresses: [{ ip: '10.0.0.1' }] }] });
  const driver = join(t.base, 'flex/acme~files');
  await mkdir(driver, { recursive: true });
  await writeFile(join(driver, 'files'), '', { mode: 0o755 });
  const { services } = t.request;
  return {
    ...services,
    objects: { ...services.objects, getConfigMap: async () => ({ data: { k: 'v' } }) },
    mounter: { ...services.mounter, ensureTmpfs: async () => undefined },
    accountToken: async () => 't',
    flexDrivers: createFlexDrivers({ run: services.run, dir: join(t.base, 'flex'), nodeName: 'n' }),
  };
}

test.concurrent.each(FIELDS)('%s can’t lead anywhere else', async (field) => {
  for (const escape of ESCAPES) {
    await using t = await createTestRequest(({ program }) =>
      program.endsWith('/files') ? { stdout: JSON.stringify({ status: 'Success' }) } : undefined,
    );
    const dir = join(t.base, 'original');
    await mkdir(dir);
    const [source = '', ...path] = field.split('.');
    const spec = replaced(testSpecs(dir), [source, ...path], escape);
    const fields: SourceFields = Object.fromEntries(
      Object.entries(spec ?? {}).filter(([name]) => name === source),
    );
    const plugin = [...POD_SOURCES, ...PERSISTENT_SOURCES].find(({ name }) => name === source);
    if (plugin === undefined) throw new Error(`no source ${source}`);
    const services = await servicesOf(t);
    const signal = AbortSignal.timeout(ENOUGH_MS);
    // Waits for completion: undo actions of an aborted setup are inspected below.
    const outcome = await t.setUp(plugin, fields, { services, signal }).then(
      ({ hostPath }) => hostPath,
      (thrown: unknown) => String(thrown),
    );
    const leaking = Object.hasOwn(PASSED_ON, field) ? [] : t.calls.filter(({ args }) => args.some(climbs));
    expect(leaking).toEqual([]);
    // The volume must be inside the test's directory.
    expect(outcome.startsWith('/') && (climbs(outcome) || !outcome.startsWith(`${t.base}/`))).toBe(false);
    for (const { mountPoint } of t.mounts) expect(mountPoint).toBe(normalize(mountPoint));
    for (const place of [t.base, join(t.base, '..'), '/'])
      expect(existsSync(join(place, 'escape'))).toBe(false);
    expect((await readdir(t.base, { recursive: true })).filter((name) => name.endsWith('escape'))).toEqual(
      [],
    );
  }
});
