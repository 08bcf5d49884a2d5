/** Feature gates that disable the mounts of a source without its CSI driver. */
import { expect, test } from 'vitest';
import type { ReadyVolume, SourcePlugin, SourceRequest } from '../contract/source.ts';
import { migratable } from './csi.ts';

const ready: ReadyVolume = { hostPath: '/mnt', readOnly: false, seLinuxRelabel: false, changes: false };

const pluginOf = (name: SourcePlugin['name']): SourcePlugin =>
  migratable({ name, about: { summary: '', use: 'both' }, bind: () => () => Promise.resolve(ready) });

const requestWith = (...gates: readonly string[]): SourceRequest => {
  const services: object = { csi: { gates: new Set(gates) }, domain: 'test.io' };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a mount of the source itself reads no more
  return { services } as Partial<SourceRequest> as SourceRequest;
};

test.each<[SourcePlugin['name'], string]>([
  ['awsElasticBlockStore', 'InTreePluginAWSUnregister'],
  ['azureDisk', 'InTreePluginAzureDiskUnregister'],
  ['azureFile', 'InTreePluginAzureFileUnregister'],
  ['cinder', 'InTreePluginOpenStackUnregister'],
  ['gcePersistentDisk', 'InTreePluginGCEUnregister'],
  ['portworxVolume', 'InTreePluginPortworxUnregister'],
  ['rbd', 'InTreePluginRBDUnregister'],
  ['vsphereVolume', 'InTreePluginvSphereUnregister'],
])('volumes of source %s are mounted unless %s is enabled', async (name, gate) => {
  const setUp = pluginOf(name).bind({});
  expect(await setUp?.(requestWith())).toBe(ready);
  await expect(setUp?.(requestWith(gate))).rejects.toThrow(
    `no volume plugin matched: the feature gate ${gate}`,
  );
});
