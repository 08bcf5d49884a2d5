/** A node whose API server becomes unavailable and returns: pods keep running or start, and nothing is done
 *  twice. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openFile } from '#agent/objects/sealed-file.ts';
import { unmountUnder } from '#agent/runtime/managed/purge.ts';
import type { PersistentVolumeSpec, Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { rootCaName } from '#plane/resources/core/root-ca-name.ts';
import { isReady } from '../../testing/agent.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId, sh, statusOf, WAIT } from '../lifecycle/support.ts';
import { type Joined, startJoined } from './support.ts';

const CORE = '/api/v1/namespaces/default';

const killed = (joined: Joined, pod: Pod) =>
  joined.cri.runtime.stopContainer({ containerId: containerId(pod, 'c'), timeout: 0n });

describe('a node whose API server is away', () => {
  test('restarts containers, and reports it when the server is back', async () => {
    await using joined = await startJoined();
    await joined.run('stays', { containers: [sh('c', WAIT)] });
    await joined.run('falls', { containers: [sh('c', WAIT)] });
    const stays = await joined.shows('stays', isReady);
    const falls = await joined.shows('falls', isReady);
    await joined.plane.stop();
    await killed(joined, falls);
    const again = await joined.agent.waitFor('falls', (pod) => statusOf(pod, 'c')?.restartCount === 1);
    await joined.plane.restart();
    await joined.shows('falls', (pod) => containerId(pod, 'c') === containerId(again, 'c') && isReady(pod));
    expect(containerId(await joined.shows('stays', isReady), 'c')).toBe(containerId(stays, 'c'));
  });

  test('starts its pods from saved objects, and stops pods deleted meanwhile', async () => {
    await using plugins = await createTempDir('na-flex-');
    await installKeeper(plugins.path);
    await using joined = await startJoined([`--volume-plugin-dir=${plugins.path}`]);
    const config = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'conf' },
      data: { word: 'saved' },
    };
    await joined.plane.post(`${CORE}/configmaps`, config);
    await using data = await createTempDir('na-data-');
    await makeClaim(joined, 'kept', { hostPath: { path: data.path } });
    // No pod references its secret.
    await joined.plane.post('/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'vault' },
    });
    await joined.plane.post('/api/v1/namespaces/vault/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'login' },
      type: 'acme/keeper',
      stringData: { word: 'opens' },
    });
    await makeClaim(joined, 'locked', {
      flexVolume: { driver: 'acme/keeper', secretRef: { namespace: 'vault', name: 'login' } },
    });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' } };
    await joined.plane.post(`${CORE}/secrets`, { ...secret, stringData: { word: 'hidden' } });
    const mounted = {
      env: [{ name: 'HIDDEN', valueFrom: { secretKeyRef: { name: 'key', key: 'word' } } }],
      envFrom: [{ configMapRef: { name: 'conf' } }],
      volumeMounts: [
        { name: 'data', mountPath: '/data' },
        { name: 'secret', mountPath: '/secret' },
        { name: 'vouch', mountPath: '/vouch' },
        { name: 'locked', mountPath: '/locked' },
      ],
    };
    const opens = Buffer.from('opens').toString('base64');
    const has = `test "$HIDDEN" = hidden && test "$(cat /secret/word)" = hidden && test -s /vouch/token && grep -q ${opens} /locked/options`;
    const vouch = { serviceAccountToken: { audience: 'vault', path: 'token' } };
    await joined.run('needs', {
      automountServiceAccountToken: true,
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'kept' } },
        { name: 'secret', secret: { secretName: 'key' } },
        { name: 'vouch', projected: { sources: [vouch] } },
        { name: 'locked', persistentVolumeClaim: { claimName: 'locked' } },
      ],
      containers: [sh('c', `${has} && echo started >> /data/log; ${WAIT}`, mounted)],
    });
    await joined.run('healthy', { containers: [sh('c', WAIT)] });
    await joined.run('deleted', { containers: [sh('c', WAIT)] });
    const healthy = await joined.shows('healthy', isReady);
    const needs = await joined.shows('needs', isReady);
    await joined.shows('deleted', isReady);
    const tokens = await tokensOf(joined, needs);
    expect(tokens).toHaveLength(2);
    await isSaved(joined, needs);

    await joined.agent.stop('SIGKILL');
    // Only the server knows that this one is deleted.
    await joined.remove('deleted', { gracePeriodSeconds: 0 });
    await joined.isGone('deleted');
    await joined.plane.stop();
    // The state of a pod after a reboot of the node.
    for (const { id } of await sandboxesOf(joined, needs)) {
      await joined.cri.runtime.stopPodSandbox({ podSandboxId: id });
      await joined.cri.runtime.removePodSandbox({ podSandboxId: id });
    }
    await unmountUnder([`${joined.agent.root}/pods/${needs.metadata?.uid}`]);
    await joined.agent.start();
    const renewed = await joined.agent.waitFor('needs', isReady);
    expect(containerId(renewed, 'c')).not.toBe(containerId(needs, 'c'));
    expect(renewed.metadata?.uid).toBe(needs.metadata?.uid);
    // No other tokens are issued.
    expect(await tokensOf(joined, needs)).toEqual(tokens);
    // A container runs for a moment before its first output.
    await expect
      .poll(() => readFile(join(data.path, 'log'), 'utf8'), { timeout: 20_000 })
      .toBe('started\nstarted\n');
    await joined.agent.waitFor('deleted', isReady);

    await joined.plane.restart();
    // An agent that waits for its server retries every few seconds.
    await eventually(async () => (await joined.agent.pod('deleted')) === undefined, { timeoutMs: 30_000 });
    await joined.shows('needs', (pod) => containerId(pod, 'c') === containerId(renewed, 'c'));
    expect(containerId(await joined.shows('healthy', isReady), 'c')).toBe(containerId(healthy, 'c'));
    expect(statusOf(await joined.shows('healthy', isReady), 'c')?.restartCount).toBe(0);
  });
});

/** A driver whose volumes contain its parameters. */
async function installKeeper(plugins: string): Promise<void> {
  const folder = join(plugins, 'acme~keeper');
  await mkdir(folder);
  const script = `#!/bin/sh
case $1 in
init) echo '{"status":"Success","capabilities":{"attach":false}}';;
mount) mount -t tmpfs keeper "$2" && echo "$3" >"$2/options" && echo '{"status":"Success"}';;
unmount) umount "$2" && echo '{"status":"Success"}';;
*) echo '{"status":"Not supported"}'; exit 1;;
esac
`;
  await writeFile(join(folder, 'keeper'), script, { mode: 0o755 });
}

/** A claim with a volume of its own, bound to each other. */
async function makeClaim({ plane }: Joined, name: string, source: PersistentVolumeSpec): Promise<void> {
  const common = {
    apiVersion: 'v1',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '' },
  };
  await plane.post('/api/v1/persistentvolumes', {
    ...common,
    kind: 'PersistentVolume',
    spec: {
      ...common.spec,
      capacity: { storage: '1Gi' },
      ...source,
      claimRef: { namespace: 'default', name },
    },
  });
  const { status, text } = await plane.post(`${CORE}/persistentvolumeclaims`, {
    ...common,
    kind: 'PersistentVolumeClaim',
    spec: { ...common.spec, volumeName: name, resources: { requests: { storage: '1Gi' } } },
  });
  if (status !== 201) throw new Error(`claim ${name}: ${text}`);
}

/** Waits until the agent has persisted everything that it needs to start all three pods without the server. */
async function isSaved({ agent }: Joined, needs: Pod): Promise<void> {
  const [pods, objects] = [join(agent.root, 'api', 'pods'), join(agent.root, 'api', 'objects')];
  const key = join(agent.root, '..', 'pki', 'saved-objects.key');
  const tokens = `Secret__${needs.metadata?.uid}.json`;
  const claims = ['kept', 'locked'].flatMap((name) => [
    `PersistentVolumeClaim_default_${name}.json`,
    `PersistentVolume__${name}.json`,
  ]);
  const named = ['ConfigMap_default_conf.json', 'Secret_default_key.json', 'Secret_vault_login.json'];
  const authority = `ConfigMap_default_${rootCaName(VOCABULARIES.plat)}.json`;
  const wanted = [tokens, ...claims, ...named, authority, 'ConfigMap__services.json'];
  await eventually(
    async () => {
      const there = new Set(await readdir(objects));
      const missing = wanted.filter((name) => !there.has(name));
      if (missing.length > 0) throw new Error(`there is no ${missing.join()}`);
      const files = (await readdir(pods)).filter((name) => name.endsWith('.json'));
      const held: unknown = JSON.parse(
        openFile(await readFile(key), tokens, await readFile(join(objects, tokens))),
      );
      return files.length === 3 && Object.keys(held as object).length === 2;
    },
    { what: 'the agent has saved what its pods need' },
  );
}

/** Its two token volumes: one for the server, one for another audience. */
async function tokensOf({ agent }: Joined, pod: Pod): Promise<readonly string[]> {
  const volumes = `${agent.root}/pods/${pod.metadata?.uid}/volumes/${VOCABULARIES.plat.domain}~projected`;
  const names = (await readdir(volumes)).toSorted();
  return Promise.all(names.map((name) => readFile(`${volumes}/${name}/token`, 'utf8')));
}

async function sandboxesOf({ cri }: Joined, pod: Pod): Promise<readonly { readonly id: string }[]> {
  const { items } = await cri.runtime.listPodSandbox({});
  return items.filter(({ metadata }) => metadata?.uid === pod.metadata?.uid);
}
