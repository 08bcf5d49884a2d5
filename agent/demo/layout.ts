/** Paths of the demo: everything is below one directory, so that `--stop` can remove it as a whole. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { LayoutOptions } from '#agent/runtime/managed/layout.ts';

export interface DemoLayout {
  readonly root: string;
  readonly containerd: LayoutOptions;
  /** Name of the pod network and of the parent cgroup of the demo pods. */
  readonly name: string;
  readonly agentRoot: string;
  readonly podLogs: string;
  readonly logLinks: string;
  /** The `nodeagent` script in the repository expects the socket there. */
  readonly agentSocket: string;
  readonly agentLog: string;
  readonly agentPid: string;
  /** Record of the runtime in use, for `--stop`. */
  readonly record: string;
}

export const DEFAULT_DEMO_ROOT = '/var/lib/nodeagent-demo';
const DEMO_NAME = 'nodeagent-demo';
/** Keeps socket paths within the kernel limit of 107 bytes. */
const LONGEST_ROOT = 80;

/** The root directory cannot be used. */
export class DemoRootError extends Error {
  constructor(root: string, expected: string) {
    super(
      `the demo directory ${JSON.stringify(root)} must be ${expected}; set NODEAGENT_DEMO_ROOT to another directory`,
    );
    this.name = 'DemoRootError';
  }
}

/** @throws DemoRootError when the path is relative, too long, or so short that removing it would be dangerous */
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

/** Demos in different directories can run concurrently. */
function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
