import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ObservedContainer, PodObservation } from '../observe/types.ts';
import { attachUrl, execUrl, portForwardUrl } from './stream-urls.ts';

const pod: Pod = {
  metadata: { uid: 'u1', namespace: 'default', name: 'web' },
  spec: {
    containers: [{ name: 'app' }, { name: 'dead' }],
    ephemeralContainers: [{ name: 'shell', stdin: true, tty: true }],
  },
};
const entry = {
  pod,
  origin: { source: 'file', location: '', document: '' },
  status: {},
  end: undefined,
  deletion: undefined,
} as const;

const container = (name: string, state: ObservedContainer['state']): ObservedContainer => ({
  id: `${name}-id`,
  podUID: 'u1',
  sandboxId: 's1',
  name,
  kind: 'app',
  attempt: 0,
  state,
  createdAtMs: 1,
  startedAtMs: 1,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: '',
  imageID: '',
  hash: '',
  fallsBackToLogs: false,
});
const sandbox = (ready: boolean): PodObservation['sandboxes'][number] => ({
  id: 's1',
  podUID: 'u1',
  podNamespace: 'default',
  podName: 'web',
  attempt: 0,
  ready,
  createdAtMs: 1,
  ips: [],
});

/** Each address is the corresponding call. */
function createDeps(ready = true) {
  const observation: PodObservation = {
    sandboxes: [sandbox(ready)],
    containers: [container('app', 'running'), container('shell', 'running'), container('dead', 'exited')],
  };
  const respond = (request: object): Promise<{ url: string }> =>
    Promise.resolve({ url: JSON.stringify(request) });
  return {
    runtime: { exec: respond, attach: respond, portForward: respond },
    view: { pod: () => observation },
    defaultContainerKey: 'default-container',
  };
}

const nothing = { container: undefined, stdin: false, tty: false };

describe('attachUrl', () => {
  test.each([
    ['the only output', nothing, { containerId: 'app-id', stdin: false, tty: false, stderr: true }],
    [
      'a terminal, which has one output',
      { container: 'shell', stdin: true, tty: true },
      { containerId: 'shell-id', stdin: true, tty: true, stderr: false },
    ],
    [
      'a terminal to look at',
      { container: 'shell', stdin: false, tty: true },
      { containerId: 'shell-id', stdin: false, tty: true, stderr: false },
    ],
  ])('requests %s', async (_what, query, expected) => {
    expect(JSON.parse(await attachUrl(createDeps(), entry, query))).toEqual({ ...expected, stdout: true });
  });

  test.each([
    [
      'input that the container was made without',
      { ...nothing, stdin: true },
      /app was created without stdin/,
    ],
    ['a terminal that it was made without', { ...nothing, tty: true }, /app was created without tty/],
    ['a container that has ended', { ...nothing, container: 'dead' }, /dead is not running/],
    ['a container that is not there', { ...nothing, container: 'x' }, /which has: app, dead, shell/],
  ])('rejects %s', async (_what, query, message) => {
    const refused = attachUrl(createDeps(), entry, query);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(StatusError);
  });
});

describe('execUrl', () => {
  test('allocates a terminal for a command in a container without one', async () => {
    const query = { container: 'app', stdin: true, tty: true, command: ['sh'] };
    expect(JSON.parse(await execUrl(createDeps(), entry, query))).toEqual({
      containerId: 'app-id',
      cmd: ['sh'],
      stdin: true,
      stdout: true,
      stderr: false,
      tty: true,
    });
  });
});

describe('portForwardUrl', () => {
  test('requests the port in the sandbox of the pod', async () => {
    expect(JSON.parse(await portForwardUrl(createDeps(), entry, [80]))).toEqual({
      podSandboxId: 's1',
      port: [80],
    });
  });

  test('rejects a pod whose sandbox is not ready', async () => {
    await expect(portForwardUrl(createDeps(false), entry, [80])).rejects.toThrow('pod web is not running');
  });
});
