/** Volumes on the disk of a joined node, through the classes of `examples/local-storage.yaml`. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { type Joined, startJoined } from './support.ts';

const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const EXAMPLE = join(import.meta.dirname, '../../examples/local-storage.yaml');

describe('local volumes of a joined node', () => {
  let joined: Joined;
  const { ok } = useKubectl(() => joined.plane.platconfigFile);
  beforeAll(async () => {
    joined = await startJoined(({ dir }) => [
      '--enable-server=true',
      '--rotate-server-certificates',
      `--client-ca-file=${dir}/pki/ca.crt`,
      '--authentication-token-webhook=true',
      '--authorization-mode=Webhook',
    ]);
    await eventually(async () => (await joined.plane.get('/api/v1/nodes/n1/proxy/healthz')).text === 'ok', {
      timeoutMs: 60_000,
    });
    await ok(['apply', '-f', EXAMPLE]);
  });
  afterAll(() => joined[Symbol.asyncDispose]());

  const volumes = (): Promise<readonly string[]> => readdir(join(joined.agent.root, 'local-volumes'));

  const makeClaim = async (name: string, spec: object = {}): Promise<void> => {
    const { status, text } = await joined.plane.post(CLAIMS, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '20Mi' } }, ...spec },
    });
    expect([status, text.slice(0, 300)]).toEqual([201, expect.anything()]);
  };

  const claimOf = async (name: string): Promise<PersistentVolumeClaim | undefined> => {
    const response = await joined.plane.get(`${CLAIMS}/${name}`);
    return response.status === 200 ? (response.json as PersistentVolumeClaim) : undefined;
  };

  /** Without a node: the scheduler selects it. */
  const user = (claimName: string, script: string): object => ({
    nodeName: undefined,
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
    containers: [sh('c', `${script}; ${WAIT}`, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
  });

  test.each(['directory', 'filesystem'])(
    '%s: created on the selected node, deleted with its claim',
    async (kind) => {
      const name = `data-${kind}`;
      await makeClaim(name, kind === 'directory' ? {} : { storageClassName: 'local-filesystem' });
      expect((await claimOf(name))?.status?.phase).toBe('Pending');
      await joined.run(name, user(name, 'echo kept > /v/f'));
      await joined.shows(name, isReady);
      const claim = await claimOf(name);
      const volumeName = claim?.spec?.volumeName ?? '';
      expect(volumeName).toBe(`pvc-${claim?.metadata?.uid}`);
      const response = await joined.plane.get(`/api/v1/persistentvolumes/${volumeName}`);
      const { spec } = response.json as PersistentVolume;
      expect(spec?.nodeAffinity?.required?.nodeSelectorTerms).toEqual([
        { matchExpressions: [{ key: VOCABULARIES.plat.labelHostname, operator: 'In', values: ['n1'] }] },
      ]);
      await eventually(async () => (await readFile(join(spec?.local?.path ?? '', 'f'), 'utf8')) === 'kept\n');
      await joined.remove(name);
      await joined.isGone(name);
      expect(await volumes()).toContain(volumeName);
      await ok(['delete', 'pvc', name, '--wait=false']);
      await eventually(
        async () => (await joined.plane.get(`/api/v1/persistentvolumes/${volumeName}`)).status === 404,
        { timeoutMs: 60_000 },
      );
      expect(await volumes()).not.toContain(volumeName);
    },
  );

  test('a volume that the node rejects is reported as an event of the claim', async () => {
    await makeClaim('huge', {
      storageClassName: 'local-filesystem',
      resources: { requests: { storage: '4Pi' } },
    });
    await joined.run('huge', user('huge', 'true'));
    const isReported = async (): Promise<boolean> =>
      (await ok(['get', 'events'])).includes('was requested, but the disk of');
    expect(await eventually(isReported, { timeoutMs: 60_000 })).toBe(true);
  });
});
