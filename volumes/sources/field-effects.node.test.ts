/** Verifies the value `used` in `field-uses.ts`: each such field is changed, and then the API requests,
 *  program arguments, records and mounts differ, or the value is rejected. Fields whose effect needs a
 *  device, a server or a driver are listed with the test that has one. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { SourceFields, SourceServices } from '../contract/source.ts';
import { createFlexDrivers } from '../flex/drivers.ts';
import { createTestRequest, testSecret } from '../network/request.fixture.ts';
import { FIELD_USES } from './field-uses.ts';
import { testSpecs } from './specs.fixture.ts';
import { PERSISTENT_SOURCES, POD_SOURCES } from './table.ts';

/** Fields whose effect needs a device or a service: the tests that have one. */
const SHOWN_BY: Readonly<Record<string, string>> = {
  'awsElasticBlockStore.readOnly': 'cloud-disks.test.ts',
  'azureDisk.readOnly': 'cloud-disks.test.ts',
  'azureFile.readOnly': 'azure-file.test.ts',
  'cinder.readOnly': 'cloud-disks.test.ts',
  'configMap.optional': '../manage/manager.node.test.ts',
  'fc.readOnly': 'fc.test.ts',
  'gcePersistentDisk.readOnly': 'cloud-disks.node.test.ts',
  'iscsi.readOnly': 'iscsi.test.ts',
  'iscsi.secretRef': 'iscsi.test.ts',
  'local.fsType': 'local-device.node.test.ts',
  'portworxVolume.fsType': 'portworx-volume.test.ts',
  'portworxVolume.readOnly': 'portworx-volume.test.ts',
  'quobyte.readOnly': 'quobyte.test.ts',
  'rbd.readOnly': 'rbd.test.ts',
  'scaleIO.protectionDomain': 'scale-io.test.ts',
  'scaleIO.readOnly': 'scale-io.test.ts',
  'scaleIO.sslEnabled': 'scale-io.test.ts',
  'scaleIO.storagePool': 'scale-io.test.ts',
  'secret.optional': '../manage/manager.node.test.ts',
  'storageos.fsType': 'storageos.test.ts',
  'storageos.readOnly': 'storageos.test.ts',
};

const SPECS = testSpecs('/');

const ROWS = Object.entries(FIELD_USES).flatMap(([source, uses]) =>
  Object.hasOwn(SPECS, source)
    ? Object.entries(uses).flatMap(([field, use]) =>
        use === 'used' && !Object.hasOwn(SHOWN_BY, `${source}.${field}`) ? [[source, field] as const] : [],
      )
    : [],
);

/** Returns other values than the current one: valid and invalid ones. */
function otherThan(value: unknown): readonly unknown[] {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, -7, 100_000];
  if (typeof value === 'string') return ['10.9.9.9', 'other', '/other', '-o\n'];
  if (Array.isArray(value)) {
    const all: readonly unknown[] = value;
    return [[...all, 'other'], []];
  }
  if (value !== undefined) return [{ name: 'other' }, {}];
  return [true, '10.9.9.9', 'other', '-o\n', 7, -7, ['other'], { name: 'other' }];
}

/** Returns all observable effects of setting up a volume, or of the attempt. */
async function traceOf(source: string, change: Readonly<Record<string, unknown>>): Promise<string> {
  await using t = await createTestRequest(({ program, args }) =>
    program.endsWith('/files')
      ? {
          stdout: JSON.stringify({
            status: 'Success',
            volumeName: args[0] === 'getvolumename' ? args[1] : '',
          }),
        }
      : undefined,
  );
  const asked: unknown[] = [];
  const dir = join(t.base, 'original');
  await mkdir(dir);
  const driver = join(t.base, 'flex/acme~files');
  await mkdir(driver, { recursive: true });
  await writeFile(join(driver, 'files'), '', { mode: 0o755 });
  const clock = createFakeClock();
  const { services } = t.request;
  const note =
    <T>(what: string, result: T) =>
    async (...args: readonly string[]): Promise<T> => {
      asked.push([what, ...args]);
      return result;
    };
  const given: SourceServices = {
    ...services,
    clock,
    mounter: { ...services.mounter, ensureTmpfs: async (...args) => void asked.push(['tmpfs', args]) },
    objects: {
      ...services.objects,
      getSecret: note('secret', testSecret('default', 's', { k: 'v', username: 'u', password: 'p' })),
      getConfigMap: note('map', { data: { k: 'v' } }),
      getEndpoints: note('endpoints', { subsets: [{ addresses: [{ ip: '10.0.0.1' }] }] }),
    },
    accountToken: async (_, request) => JSON.stringify(request),
    flexDrivers: createFlexDrivers({ run: services.run, dir: join(t.base, 'flex'), nodeName: 'n' }),
  };
  const plugin = [...POD_SOURCES, ...PERSISTENT_SOURCES].find(({ name }) => name === source);
  const spec: unknown = Object.entries(testSpecs(dir)).find(([name]) => name === source)?.[1];
  if (plugin === undefined || typeof spec !== 'object') throw new Error(`no source ${source}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a value of any kind is what is tried
  const fields = { [source]: { ...spec, ...change } } as SourceFields;
  const outcome = t.setUp(plugin, fields, { services: given }).then(
    ({ hostPath, readOnly }) => ({ hostPath, readOnly }),
    (thrown: unknown) => String(thrown),
  );
  // The timeout error names the awaited device.
  const timer = setInterval(() => void clock.advance(31_000), 5);
  const over = await outcome.finally(() => clearInterval(timer));
  const seen = {
    outcome: over,
    asked,
    calls: t.calls,
    mounts: t.mounts,
    kept: t.remembered,
    staged: t.staged,
  };
  return JSON.stringify(seen)
    .replaceAll(t.base, 'BASE')
    .replaceAll(/na-[\w-]{6,}|[0-9a-f]{32,}/g, 'X');
}

describe('a field that is used', () => {
  test.each(Object.entries(SHOWN_BY))('%s has its effect in %s', async (path, file) => {
    const [source = '', field = ''] = path.split('.');
    const uses: unknown = Reflect.get(FIELD_USES, source);
    expect(uses).toHaveProperty(field, 'used');
    expect(await readFile(join(import.meta.dirname, file), 'utf8')).toMatch(new RegExp(`\\b${field}\\b`));
  });

  test.concurrent.each(ROWS)('%s.%s makes a difference', async (source, field) => {
    const base = await traceOf(source, {});
    expect(await traceOf(source, {})).toBe(base);
    const before: unknown = Reflect.get(Reflect.get(SPECS, source) as object, field);
    for (const value of otherThan(before)) if ((await traceOf(source, { [field]: value })) !== base) return;
    throw new Error(`whatever ${source}.${field} says, it is the same: ${base}`);
  });
});
