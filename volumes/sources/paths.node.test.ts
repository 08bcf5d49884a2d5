/** `..` in every field of every source (of CSI and claims: `paths-of-claims.node.test.ts`): refused, or nothing that a program is told or that is mounted leads anywhere else
 *  by it. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { createFlexDrivers } from '../flex/drivers.ts';
import { createTestRequest, type TestRequest, testSecret } from '../network/test-request.ts';
import type { SourceFields, SourceServices } from './source.ts';
import { PERSISTENT_SOURCES, POD_SOURCES } from './table.ts';
import { ESCAPES, replaced, textsIn } from './test-escapes.ts';
import { testSpecs } from './test-specs.ts';

/** Longer than anything here takes; what waits for devices or servers has then told its programs what it has to. */
const ENOUGH_MS = 150;

/** Fields whose value is passed on as one word that nobody takes for a path of this node. */
const PASSED_ON: Readonly<Record<string, string>> = {
  'flexVolume.fsType': 'an entry of the JSON that the driver reads',
  'flexVolume.options.path': 'an entry of the JSON that the driver reads',
};

const FIELDS = Object.entries(testSpecs('/')).flatMap(([source, spec]) => textsIn(spec, source));

const climbs = (word: string): boolean => word.includes('..');

/** Everything is there that a source may want to look at before it looks at the field. */
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
    // To its end: what it undoes when it is given up lies where is looked below.
    const outcome = await t.setUp(plugin, fields, { services, signal }).then(
      ({ hostPath }) => hostPath,
      (thrown: unknown) => String(thrown),
    );
    const told = Object.hasOwn(PASSED_ON, field) ? [] : t.calls.filter(({ args }) => args.some(climbs));
    expect(told).toEqual([]);
    // What was made ready lies where this test is.
    expect(outcome.startsWith('/') && (climbs(outcome) || !outcome.startsWith(`${t.base}/`))).toBe(false);
    for (const { mountPoint } of t.mounts) expect(mountPoint).toBe(normalize(mountPoint));
    for (const place of [t.base, join(t.base, '..'), '/'])
      expect(existsSync(join(place, 'escape'))).toBe(false);
    expect((await readdir(t.base, { recursive: true })).filter((name) => name.endsWith('escape'))).toEqual(
      [],
    );
  }
});
