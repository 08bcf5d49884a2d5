/** Upstream's node agent asks our API server for the certificate by which it serves; our server, once somebody approved
 *  that, believes no other. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { type Program, runProgram, startProgram } from '../plane-strangers/program/program.ts';
import { useKubectl } from '../plane-strangers/testing/kubectl.ts';
import { startStockNode } from './stock-node.ts';

const WORDS = VOCABULARIES.kubernetes;
const NS = 'stock-serving';

describe('a stock node whose serving certificate is ours', () => {
  let dir: TempDir;
  let server: Program;
  const { ok, fails } = useKubectl(() => `${dir.path}/admin.platconfig`);
  const csr = async (...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runProgram(['csr', ...words, '--data-dir', dir.path]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };

  const started = new AsyncDisposableStack();
  beforeAll(async () => {
    dir = started.use(await createTempDir('na-plane-'));
    server = started.use(
      await startProgram(dir.path, [
        '--vocabulary=kubernetes',
        '--controllers=*',
        '--enable-bootstrap-token-auth',
        `--nodeagent-certificate-authority=${dir.path}/pki/ca.crt`,
      ]),
    );
    const flags = ['--rotate-server-certificates'];
    started.use(await startStockNode(server, { serverDir: dir.path, namespace: NS, flags }));
  });
  afterAll(() => started.disposeAsync());

  test('is not reached before somebody approves, and then it is', async () => {
    await ok(`create namespace ${NS}`);
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'one' },
      spec: { terminationGracePeriodSeconds: 0, containers: [sh('c', `echo begun; ${WAIT}`)] },
    };
    await ok(`apply -n ${NS} -f -`, { input: pod });
    await ok(`wait -n ${NS} --for=condition=Ready pod/one --timeout=18s`);
    expect(await fails(`logs -n ${NS} one`)).toMatch(/tls|certificate|connect/i);
    const name = await eventually(async () => {
      const line = (await csr('list')).split('\n').find((text) => text.includes(WORDS.nodeServingSigner));
      return line?.split(/ +/)[0];
    });
    await csr('approve', name);
    const logs = await eventually(() => ok(`logs -n ${NS} one`), { timeoutMs: 30_000, intervalMs: 200 });
    expect(logs).toBe('begun');
    expect(await ok(`exec -n ${NS} one -- echo hello`)).toBe('hello');
  });
});
