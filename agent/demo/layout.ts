/** Where the demo keeps what: everything below one folder, so that `--stop` can remove it as a whole. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { LayoutOptions } from '#agent/runtime/managed/layout.ts';

export interface DemoLayout {
  readonly root: string;
  readonly containerd: LayoutOptions;
  /** Name of the pod network and of the cgroup below which the demo's pods run. */
  readonly name: string;
  readonly agentRoot: string;
  readonly podLogs: string;
  readonly logLinks: string;
  /** The `nodeagent` script in the repository looks for it there. */
  readonly agentSocket: string;
  readonly agentLog: string;
  readonly agentPid: string;
  /** What `--stop` has to know of the start: the runtime that was used. */
  readonly record: string;
}

export const DEFAULT_DEMO_ROOT = '/var/lib/nodeagent-demo';
const DEMO_NAME = 'nodeagent-demo';
/** So that the sockets' paths fit into the 107 bytes that the kernel gives them. */
const LONGEST_ROOT = 80;

/** The root folder cannot be used. */
export class DemoRootError extends Error {
  constructor(root: string, expected: string) {
    super(
      `the demo's folder ${JSON.stringify(root)} must be ${expected}; set NODEAGENT_DEMO_ROOT to another one`,
    );
    this.name = 'DemoRootError';
  }
}

/** @throws DemoRootError when the path is relative, too long, or so short that removing it would be a disaster */
export function demoLayout(root: string): DemoLayout {
  if (!/^(?:\/[\w.-]+){2,}$/.test(root) || root.includes('/..')) {
    throw new DemoRootError(root, 'an absolute path of at least two plain parts');
  }
  if (Buffer.byteLength(root) > LONGEST_ROOT)
    throw new DemoRootError(root, `at most ${LONGEST_ROOT} bytes long`);
  return {
    root,
    containerd: {
      rootDir: join(root, 'containerd'),
      stateDir: join(root, 'run'),
      socketPath: join(root, 'containerd.sock'),
    },
    name: root === DEFAULT_DEMO_ROOT ? DEMO_NAME : `${DEMO_NAME}-${shortHash(root)}`,
    agentRoot: join(root, 'agent'),
    podLogs: join(root, 'logs'),
    logLinks: join(root, 'log-links'),
    agentSocket: join(root, 'nodeagent.sock'),
    agentLog: join(root, 'agent.log'),
    agentPid: join(root, 'agent.pid'),
    record: join(root, 'demo.json'),
  };
}

/** Demos in different folders run side by side. */
function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
