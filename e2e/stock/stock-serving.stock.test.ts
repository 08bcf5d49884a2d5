/** Serving certificate of upstream's node agent, requested from our API server: issued for the node's own
 *  addresses, and the only one that our server accepts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { type Program, startProgram } from '../plane-clients/program/program.ts';
import { startUpstreamNode } from './stock-node.ts';

const NS = 'stock-serving';

describe('a stock node whose serving certificate is ours', () => {
  let dir: TempDir;
  let server: Program;
  const { ok } = useKubectl(() => `${dir.path}/admin.platconfig`);
  const started = new AsyncDisposableStack();
  beforeAll(async () => {
    dir = started.use(await createTempDir('na-plane-'));
    server = started.use(
      await startProgram(dir.path, [
        '--vocabulary=kubernetes',
        '--controllers=*',
        '--enable-bootstrap-token-auth',
      ]),
    );
    const flags = ['--rotate-server-certificates'];
    started.use(await startUpstreamNode(server, { serverDir: dir.path, namespace: NS, flags }));
  });
  afterAll(() => started.disposeAsync());

  test('is reached without anybody approving its certificate', async () => {
    await ok(`create namespace ${NS}`);
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'one' },
      spec: { terminationGracePeriodSeconds: 0, containers: [sh('c', `echo begun; ${WAIT}`)] },
    };
    await ok(`apply -n ${NS} -f -`, { input: pod });
    await ok(`wait -n ${NS} --for=condition=Ready pod/one --timeout=18s`);
    const logs = await eventually(() => ok(`logs -n ${NS} one`), { timeoutMs: 30_000, intervalMs: 200 });
    expect(logs).toBe('begun');
    expect(await ok(`exec -n ${NS} one -- echo hello`)).toBe('hello');
  });
});
