/** The list of commands. Each is in its own file, loaded on use. */
import type { CommandEntry } from './command.ts';

type Entry = readonly [name: string, summary: string, load: CommandEntry['load']];

const VIEWS: readonly Entry[] = [
  ['ps', 'list the pods', () => import('./commands/ps.ts')],
  ['get', 'show pods, events or configuration objects', () => import('./commands/get.ts')],
  ['describe', 'show details of a pod', () => import('./commands/describe.ts')],
  ['inspect', 'show a pod as the runtime reports it', () => import('./commands/inspect.ts')],
  ['events', 'list events', () => import('./commands/events.ts')],
  ['top', 'show resource usage of the node and its pods', () => import('./commands/top.ts')],
  ['logs', 'print the log of a container', () => import('./commands/logs.ts')],
  ['explain', 'show the fields of a type', () => import('./commands/explain.ts')],
];

const CONTAINERS: readonly Entry[] = [
  ['exec', 'run a command in a container', () => import('./commands/exec.ts')],
  ['attach', 'attach to the main process of a container', () => import('./commands/attach.ts')],
  ['debug', 'add a debugging container to a running pod', () => import('./commands/debug.ts')],
  ['cp', 'copy files from or to a container', () => import('./commands/cp.ts')],
  ['port-forward', 'forward local ports to a pod', () => import('./commands/port-forward.ts')],
  ['restart', 'restart the containers of a pod', () => import('./commands/restart.ts')],
];

const MANIFESTS: readonly Entry[] = [
  ['validate', 'check manifests without running them', () => import('./commands/validate.ts')],
  ['apply', 'apply manifests', () => import('./commands/apply.ts')],
  ['diff', 'show what apply would change', () => import('./commands/diff.ts')],
  ['edit', 'change a manifest in an editor', () => import('./commands/edit.ts')],
  ['patch', 'change fields of an applied object', () => import('./commands/patch.ts')],
  ['wait', 'wait until pods meet a condition', () => import('./commands/wait.ts')],
  ['delete', 'delete applied pods and objects', () => import('./commands/delete.ts')],
];

const IMAGES: readonly Entry[] = [
  ['images', 'list images', () => import('./commands/images.ts')],
  ['pull', 'pull images', () => import('./commands/pull.ts')],
  ['load', 'load images from archives', () => import('./commands/load.ts')],
  ['save', 'write images to an archive', () => import('./commands/save.ts')],
  ['rmi', 'remove images', () => import('./commands/rmi.ts')],
  ['prune', 'remove unused images', () => import('./commands/prune.ts')],
];

const NODE: readonly Entry[] = [
  ['config', 'show the effective configuration and its origins', () => import('./commands/config.ts')],
  ['doctor', 'check what this node supports and what it lacks', () => import('./commands/doctor.ts')],
  ['support-bundle', 'collect what a bug report needs', () => import('./commands/support-bundle.ts')],
  ['completion', 'print the completion script of a shell', () => import('./commands/completion.ts')],
  [
    'version',
    'show the versions of the program, the agent and the runtime',
    () => import('./commands/version.ts'),
  ],
  ['join', 'join this machine to a cluster with a bootstrap token', () => import('./commands/join.ts')],
  ['leave', 'undo join: return this machine to a standalone node', () => import('./commands/leave.ts')],
  [
    'cri-docker',
    'serve docker as a container runtime to any client of CRI',
    () => import('./commands/cri-docker.ts'),
  ],
  ['install', 'install nodeagent as a systemd service', () => import('./commands/install.ts')],
  ['uninstall', 'uninstall the systemd service', () => import('./commands/uninstall.ts')],
];

export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly CommandEntry[];
}

const group = (title: string, entries: readonly Entry[]): CommandGroup => ({
  title,
  commands: entries.map(([name, summary, load]) => ({ name, summary, load })),
});

/** In the order of the help. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  group('See', VIEWS),
  group('Work with containers', CONTAINERS),
  group('Manage manifests', MANIFESTS),
  group('Manage images', IMAGES),
  group('Manage the node', NODE),
];

export const COMMANDS: readonly CommandEntry[] = COMMAND_GROUPS.flatMap(({ commands }) => commands);
