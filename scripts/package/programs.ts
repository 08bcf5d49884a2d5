/** The two programs and what their packages contain. */
import { AGENT_PROGRAM } from '#agent/install/paths.ts';
import type { ProgramSpec } from '#api/kit/install/program.ts';
import { PLANE_PROGRAM } from '#plane/install/paths.ts';
import type { DebianFacts } from './debian-package.ts';

export interface PackagedProgram {
  readonly spec: ProgramSpec;
  readonly debian: DebianFacts;
  readonly summary: string;
  /** Files for the manual page. */
  readonly files: readonly (readonly [path: string, what: string])[];
}

/** Libraries of Node. */
const NODE_LIBRARIES = ['libc6 (>= 2.28)', 'libstdc++6', 'libgcc-s1', 'libatomic1'];

const UNITS = 'agent/install/systemd';
const PLANE_UNITS = 'control-plane-lite/install/systemd';

export const PROGRAMS: readonly PackagedProgram[] = [
  {
    spec: AGENT_PROGRAM,
    summary: 'runs pods on this machine',
    files: [
      ['/etc/nodeagent/config.yaml', 'Configuration.'],
      ['/etc/nodeagent/manifests', 'Manifests of pods: add a file to run its pods.'],
      ['/etc/default/nodeagent', 'Flags and variables of nodeagent.service.'],
    ],
    debian: {
      name: 'nodeagent',
      depends: [
        ...NODE_LIBRARIES,
        'init-system-helpers',
        'containerd',
        'runc',
        'containernetworking-plugins',
        'busybox-static',
        'catatonit',
        'iproute2',
        'iptables',
        'mount',
      ],
      recommends: ['ca-certificates', 'e2fsprogs'],
      about: [
        'node agent that runs pods from manifests or of an API server',
        'nodeagent runs pods on this machine: with init containers, probes, restarts,',
        'volumes, limits and logs, on containerd or another runtime that speaks CRI.',
        'Alone it reads manifests from a folder; joined, it is a node of a cluster.',
      ],
      units: ['nodeagent', 'nodeagent-containerd', 'nodeagent-pods'].map(
        (name) => `${UNITS}/${name}.service`,
      ),
      copies: [
        ['agent/install/config.yaml', 'etc/nodeagent/config.yaml', 0o600],
        ['agent/install/defaults', 'etc/default/nodeagent', 0o644],
      ],
      folders: [['etc/nodeagent/manifests', 0o700]],
      conffiles: ['/etc/default/nodeagent', '/etc/nodeagent/config.yaml'],
    },
  },
  {
    spec: PLANE_PROGRAM,
    summary: 'serves the API of a cluster',
    files: [
      ['/etc/default/control-plane-lite', 'Flags of control-plane-lite.service, settings of its backups.'],
      ['/var/lib/control-plane-lite', 'Store, certificates and keys.'],
    ],
    debian: {
      name: 'control-plane-lite',
      depends: [...NODE_LIBRARIES, 'init-system-helpers', 'systemd'],
      recommends: ['ca-certificates', 'kubernetes-client'],
      about: [
        'compact API server for a cluster of nodes',
        'control-plane-lite is an API server with controllers and a scheduler in one',
        'process, with an embedded store or etcd. kubectl and client libraries of',
        'Kubernetes work with it. Machines join it with nodeagent.',
      ],
      units: [
        `${PLANE_UNITS}/control-plane-lite.service`,
        `${PLANE_UNITS}/control-plane-lite-backup.service`,
        `${PLANE_UNITS}/control-plane-lite-backup.timer`,
      ],
      copies: [
        ['control-plane-lite/install/defaults', 'etc/default/control-plane-lite', 0o644],
        [`${PLANE_UNITS}/sysusers.conf`, 'usr/lib/sysusers.d/control-plane-lite.conf', 0o644],
        [`${PLANE_UNITS}/tmpfiles.conf`, 'usr/lib/tmpfiles.d/control-plane-lite.conf', 0o644],
      ],
      folders: [],
      conffiles: ['/etc/default/control-plane-lite'],
    },
  },
];
