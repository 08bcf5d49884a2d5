/** Commands that work with manifests, on a running agent. */
import { once } from 'node:events';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { CLI, type Ended, runCli } from '../../testing/cli.ts';
import { eventually } from '../../testing/wait.ts';

let agent: TestAgent;
const run = (args: readonly string[], input = ''): Promise<Ended> => runCli(agent, args, input);

const WAIT = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';
const podText = (name: string, labels: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'local/busybox:1', command: ['sh', '-c', WAIT] }],
    },
  });
const configText = (name: string, value: string, label = 'x'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, labels: {app: ${label}}}\ndata: {key: ${value}}\n`;

beforeAll(async () => {
  agent = await TestAgent.create({ endpoint: inject('criEndpoint'), program: [CLI, 'run'] });
});
afterAll(() => agent[Symbol.asyncDispose]());

describe('validate and dry runs', () => {
  test('check without changing anything', async () => {
    await writeFile(join(agent.folder, 'a.yaml'), configText('a', 'one'));
    expect(await run(['validate', 'a.yaml'])).toEqual({
      code: 0,
      out: 'a.yaml, document 1: ConfigMap default/a valid\n',
      err: '',
    });
    expect((await run(['apply', '-f', 'a.yaml', '--dry-run=client'])).out).toBe(
      'configmap/a valid (client dry run)\n',
    );
    expect((await run(['apply', '-f', 'a.yaml', '--dry-run=server'])).out).toBe(
      'configmap/a created (server dry run)\n',
    );
    expect((await run(['get', 'cm', 'a'])).code).toBe(1);
    const bad = await run(['validate', '-'], 'apiVersion: v1\nkind: Pod\nmetadata: {name: X}\n');
    expect(bad.code).toBe(1);
    expect(bad.err).toMatch(/^standard input, document 1: Pod default\/X invalid\n {2}metadata\.name: /);
  });
});

describe('apply', () => {
  test('reads a URL of this machine, and no plain HTTP of others', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/go') response.writeHead(302, { location: '/c.yaml' }).end();
      else if (request.url === '/c.yaml') response.end(configText('fetched', 'one'));
      else response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      expect((await run(['apply', '-f', `${base}/go`])).out).toBe('configmap/fetched created\n');
      expect((await run(['apply', '-f', `${base}/none?token=x`])).err).toBe(
        `nodeagent: cannot read ${base}/none: HTTP status 404\n`,
      );
      expect((await run(['apply', '-f', 'http://192.0.2.1/a.yaml'])).err).toMatch(/use https/);
    } finally {
      server.closeAllConnections();
      server.close();
    }
    await run(['delete', 'cm', 'fetched']);
  });

  test('prunes applied objects with a label that the manifests do not contain', async () => {
    await mkdir(join(agent.folder, 'site'), { recursive: true });
    await writeFile(join(agent.folder, 'site/one.yaml'), configText('one', 'a', 'site'));
    await writeFile(join(agent.folder, 'site/two.yaml'), configText('two', 'a', 'site'));
    await run(['apply', '-f', '-'], configText('other', 'a', 'else'));
    await run(['apply', '-f', 'site']);
    expect((await run(['apply', '-f', 'site/one.yaml', '--prune'])).code).toBe(2);
    const dry = await run(['apply', '-f', 'site/one.yaml', '--prune', '-l', 'app=site', '--dry-run=server']);
    expect(dry.out).toMatch(/configmap\/two pruned \(server dry run\)\n/);
    expect((await run(['apply', '-f', 'site/one.yaml', '--prune', '-l', 'app=site'])).out).toBe(
      'configmap/one unchanged\nconfigmap/two pruned\n',
    );
    expect((await run(['get', 'cm', '-o', 'name'])).out).toBe('configmap/one\nconfigmap/other\n');
    expect((await run(['delete', 'cm', '-l', 'app in (site,else)'])).out).toBe(
      'configmap/one deleted\nconfigmap/other deleted\n',
    );
  });
});

describe('diff, patch and edit', () => {
  test('shows what apply would change, and exits with 1', async () => {
    await run(['apply', '-f', '-'], configText('d', 'old'));
    const { code, out } = await run(['diff', '-f', '-'], configText('d', 'new'));
    expect(code).toBe(1);
    expect(out).toMatch(/^--- applied ConfigMap default\/d\n\+\+\+ standard input, document 1\n@@/);
    expect(out).toMatch(/^-.*key: old\n\+.*key: new$/m);
    expect(await run(['diff', '-f', '-'], configText('d', 'old'))).toEqual({ code: 0, out: '', err: '' });
    expect((await run(['diff', '-f', 'none.yaml'])).code).toBe(2);
  });

  test('never shows values of a Secret', async () => {
    const secret = (value: string): string =>
      `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: ${value}}\n`;
    await run(['apply', '-f', '-'], secret('hunter2'));
    const { out, err } = await run(['diff', '-f', '-'], `${secret('hunter3')}type: Opaque\n`);
    expect(out + err).toMatch(/^\+type: Opaque$/m);
    expect(out + err).not.toMatch(/hunter/);
    expect((await run(['patch', 'secret', 's', '-p', '{}'])).err).toMatch(/cannot be patched/);
    expect((await run(['edit', 'secret', 's'])).err).toMatch(/cannot be edited/);
  });

  test('patches an applied object', async () => {
    await run(['apply', '-f', '-'], configText('p', 'one'));
    const merge = await run(['patch', 'cm', 'p', '-p', '{"data":{"more":"two"}}']);
    expect(merge).toEqual({ code: 0, out: 'configmap/p configured\n', err: '' });
    const list = JSON.stringify([{ op: 'replace', path: '/data/key', value: 'three' }]);
    await run(['patch', 'cm/p', '--type=json', '-p', list]);
    expect((await run(['get', 'cm', 'p', '-o', 'jsonpath={.data}'])).out).toBe(
      '{"key":"three","more":"two"}',
    );
  });

  test('edits an applied object, and a manifest file only if it stays valid', async () => {
    const editor = join(agent.folder, 'editor.sh');
    await writeFile(editor, '#!/bin/sh\nsed -i "s/$1/$2/" "$3"\n', { mode: 0o755 });
    await chmod(editor, 0o755);
    const edit = (from: string, to: string, ...args: string[]): Promise<Ended> =>
      runCli(agent, ['edit', ...args], '', { EDITOR: `${editor} ${from} ${to}` });
    await run(['apply', '-f', '-'], configText('e', 'one'));
    expect((await edit('one', 'two', 'cm', 'e')).out).toBe('configmap/e configured\n');
    expect((await edit('none', 'none', 'cm', 'e')).out).toBe('not changed\n');
    const file = join(agent.folder, 'edited.yaml');
    await writeFile(file, configText('f', 'one'), { mode: 0o640 });
    expect((await edit('one', 'two', '-f', 'edited.yaml')).out).toBe(`${file} saved\n`);
    expect(await readFile(file, 'utf8')).toBe(configText('f', 'two'));
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    const bad = await edit('ConfigMap', 'Nonsense', '-f', 'edited.yaml');
    expect(bad.code).toBe(1);
    expect(bad.err).toMatch(/nothing was changed; your text is in /);
    expect(await readFile(file, 'utf8')).toBe(configText('f', 'two'));
  });
});

describe('wait, restart and inspect', () => {
  test('wait for the state of a pod, restart it, and show its containers', async () => {
    await run(['apply', '-f', '-'], podText('w', { app: 'w' }));
    const met = await run(['wait', '--for=condition=Ready', 'pod', 'w', '--timeout=60s']);
    expect(met).toEqual({ code: 0, out: 'pod/w condition met\n', err: '' });
    expect(
      (await run(['wait', '--for=jsonpath={.status.phase}=Failed', 'pods', '-l', 'app=w', '--timeout=0']))
        .err,
    ).toBe('nodeagent: timed out waiting for default/w\n');
    const id = 'jsonpath={.containers[*].id}';
    const before = (await run(['inspect', 'w', '-o', id])).out;
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect(await run(['restart', 'w'])).toEqual({ code: 0, out: 'pod/w restarted: main\n', err: '' });
    await eventually(async () => {
      const pod = await agent.pod('w');
      return pod?.status?.containerStatuses?.[0]?.restartCount === 1 && isReady(pod);
    });
    expect((await run(['restart', 'w', '-c', 'none'])).err).toMatch(/which has: main/);
    const deleted = run(['wait', '--for=delete', 'pod/w', '--timeout=60s']);
    await run(['delete', 'pod', 'w']);
    expect(await deleted).toMatchObject({ code: 0, out: 'pod/w deleted\n' });
  });
});
