/** The list of commands. Each is in its own file, loaded on use. */
import type { CommandEntry } from './command.ts';

export const COMMANDS: readonly CommandEntry[] = [
  { name: 'ps', summary: 'list the pods', load: () => import('./commands/ps.ts') },
  {
    name: 'get',
    summary: 'show pods, events or configuration objects',
    load: () => import('./commands/get.ts'),
  },
  { name: 'describe', summary: 'show details of a pod', load: () => import('./commands/describe.ts') },
  { name: 'events', summary: 'list events', load: () => import('./commands/events.ts') },
  {
    name: 'top',
    summary: 'show resource usage of the node and its pods',
    load: () => import('./commands/top.ts'),
  },
  { name: 'logs', summary: 'print the log of a container', load: () => import('./commands/logs.ts') },
  { name: 'exec', summary: 'run a command in a container', load: () => import('./commands/exec.ts') },
  {
    name: 'attach',
    summary: 'attach to the main process of a container',
    load: () => import('./commands/attach.ts'),
  },
  {
    name: 'debug',
    summary: 'add a debugging container to a running pod',
    load: () => import('./commands/debug.ts'),
  },
  {
    name: 'port-forward',
    summary: 'forward local ports to a pod',
    load: () => import('./commands/port-forward.ts'),
  },
  { name: 'apply', summary: 'apply manifests', load: () => import('./commands/apply.ts') },
  { name: 'delete', summary: 'delete applied pods and objects', load: () => import('./commands/delete.ts') },
  {
    name: 'config',
    summary: 'show the effective configuration and its origins',
    load: () => import('./commands/config.ts'),
  },
  {
    name: 'doctor',
    summary: 'check what this node supports and what it lacks',
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'join',
    summary: 'join this machine to a cluster with a bootstrap token',
    load: () => import('./commands/join.ts'),
  },
  {
    name: 'leave',
    summary: 'undo join: return this machine to a standalone node',
    load: () => import('./commands/leave.ts'),
  },
  {
    name: 'version',
    summary: 'show the versions of the program, the agent and the runtime',
    load: () => import('./commands/version.ts'),
  },
  {
    name: 'cri-docker',
    summary: 'serve docker as a container runtime to any client of CRI',
    load: () => import('./commands/cri-docker.ts'),
  },
  {
    name: 'install',
    summary: 'install nodeagent as a systemd service',
    load: () => import('./commands/install.ts'),
  },
  {
    name: 'uninstall',
    summary: 'uninstall the systemd service',
    load: () => import('./commands/uninstall.ts'),
  },
];
