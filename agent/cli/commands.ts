/** The commands, each in a file of its own that is loaded when it is used. */
import type { Command } from './command.ts';

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

export const COMMANDS: readonly CommandEntry[] = [
  { name: 'ps', summary: 'list the pods', load: () => import('./ps.ts') },
  { name: 'get', summary: 'show pods, events or configuration objects', load: () => import('./get.ts') },
  { name: 'describe', summary: 'tell everything about one pod', load: () => import('./describe.ts') },
  { name: 'events', summary: 'tell what happened', load: () => import('./events.ts') },
  { name: 'top', summary: 'show what the node and its pods use', load: () => import('./top.ts') },
  { name: 'logs', summary: 'print what a container wrote', load: () => import('./logs.ts') },
  { name: 'exec', summary: 'run a command in a container', load: () => import('./exec.ts') },
  { name: 'attach', summary: 'join the process of a container', load: () => import('./attach.ts') },
  {
    name: 'debug',
    summary: 'add a container to a pod that runs, to look into it',
    load: () => import('./debug.ts'),
  },
  {
    name: 'port-forward',
    summary: 'make ports of a pod reachable here',
    load: () => import('./port-forward.ts'),
  },
  { name: 'apply', summary: 'run pods from manifests given by hand', load: () => import('./apply.ts') },
  { name: 'delete', summary: 'end pods that were applied', load: () => import('./delete.ts') },
  {
    name: 'config',
    summary: 'show the configuration in force and its origins',
    load: () => import('./config.ts'),
  },
  {
    name: 'doctor',
    summary: 'show what this node can do, and what it lacks',
    load: () => import('./doctor.ts'),
  },
  {
    name: 'join',
    summary: 'make this machine a node of a cluster, with a token',
    load: () => import('./join.ts'),
  },
  {
    name: 'leave',
    summary: 'undo join: make this machine a standalone node again',
    load: () => import('./leave.ts'),
  },
  {
    name: 'version',
    summary: 'show the versions of program, agent and runtime',
    load: () => import('./version.ts'),
  },
  { name: 'install', summary: 'put nodeagent under systemd', load: () => import('./install.ts') },
  { name: 'uninstall', summary: 'take it away again', load: () => import('./uninstall.ts') },
];
