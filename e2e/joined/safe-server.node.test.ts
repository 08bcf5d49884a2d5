/** Access to the server of an agent that was started with the command that `join` printed: only the cluster
 *  is authorized. */
import { request } from 'node:https';
import { expect, inject, test } from 'vitest';
import { runServerCommand } from '#plane/commands/run-command.ts';
import { startTestPlane } from '#plane/main.fixture.ts';
import { TestAgent } from '../../testing/agent.ts';
import { runCli } from '../../testing/cli.ts';
import { freePort } from '../../testing/free-port.ts';
import { eventually } from '../../testing/wait.ts';

/** Returns the status of the response to a client without credentials. */
function askAsStranger(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .once('error', reject)
      .end();
  });
}

test('the server of a node that joined admits only the cluster', async () => {
  await using plane = await startTestPlane(['--enable-bootstrap-token-auth']);
  const line = await eventually(async () => {
    const lines: string[] = [];
    const argv = ['create', '--data-dir', plane.dir];
    const code = await runServerCommand('token', argv, (text) => lines.push(text));
    return code === 0 ? lines.join(' ') : undefined;
  });
  const port = await freePort();
  const flags: string[] = [`--port=${port}`, '--enable-server'];
  await using agent = await TestAgent.create({ endpoint: inject('criEndpoint'), start: false, flags });
  const { code, out, err } = await runCli(agent, [
    ...line.trim().split(' ').slice(1),
    '--hostname-override=safe',
    '--cert-dir=pki',
    '--platconfig=node.platconfig',
    '--bootstrap-kubeconfig=bootstrap.platconfig',
  ]);
  expect([code, err]).toEqual([0, '']);
  flags.push(...(/^ +nodeagent (.+)$/m.exec(out)?.[1]?.split(' ') ?? []));
  expect(flags).toContain(`--config=${agent.folder}/config.yaml`);

  await agent.start();
  await eventually(async () => (await plane.get('/api/v1/nodes/safe')).status === 200);
  const healthz = await eventually(async () => {
    const result = await plane.get('/api/v1/nodes/safe/proxy/healthz');
    return result.status === 200 ? result : undefined;
  });
  expect(healthz.text).toBe('ok');
  for (const path of ['/healthz', '/pods', '/metrics', '/exec/a/b/c']) {
    expect(await askAsStranger(port, path)).toBe(401);
  }
});
