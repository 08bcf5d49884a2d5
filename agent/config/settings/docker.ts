/** Settings that apply to the docker runtime only; accepted so that old command lines still work. */
import { ignored } from '#api/schema/effect.ts';
import { DEFAULT_SANDBOX_IMAGE } from '#api/vocabulary.ts';
import type { Setting } from '../setting.ts';

const DOCKER_ONLY = ignored('only the docker runtime reads it, which this agent does not have');

export const DOCKER_SETTINGS: readonly Setting[] = [
  {
    key: 'dockerEndpoint',
    group: 'Docker only',
    type: 'string',
    default: 'unix:///var/run/docker.sock',
    flags: [{ name: 'docker-endpoint' }],
    acted: DOCKER_ONLY,
    help: 'Socket of docker.',
  },
  {
    key: 'podInfraContainerImage',
    group: 'Docker only',
    type: 'string',
    default: DEFAULT_SANDBOX_IMAGE,
    flags: [{ name: 'pod-infra-container-image' }],
    acted: true,
    help: 'Image of the pod sandbox container; not collected as unused.',
  },
  {
    key: 'imagePullProgressDeadline',
    group: 'Docker only',
    type: 'duration',
    default: '1m0s',
    flags: [{ name: 'image-pull-progress-deadline' }],
    acted: DOCKER_ONLY,
    help: 'Time without progress after which an image pull is cancelled.',
  },
  {
    key: 'networkPlugin',
    group: 'Docker only',
    type: 'string',
    default: '',
    flags: [{ name: 'network-plugin' }],
    acted: DOCKER_ONLY,
    help: 'Name of the network plugin.',
  },
  {
    key: 'networkPluginMtu',
    group: 'Docker only',
    type: 'int32',
    default: 0,
    flags: [{ name: 'network-plugin-mtu' }],
    acted: DOCKER_ONLY,
    help: 'MTU passed to the network plugin; 0 is the default of the plugin.',
  },
  {
    key: 'cniBinDir',
    group: 'Docker only',
    type: 'string',
    default: '/opt/cni/bin',
    flags: [{ name: 'cni-bin-dir' }],
    acted: DOCKER_ONLY,
    help: 'Directories of network plugins.',
  },
  {
    key: 'cniConfDir',
    group: 'Docker only',
    type: 'string',
    default: '/etc/cni/net.d',
    flags: [{ name: 'cni-conf-dir' }],
    isPath: true,
    acted: DOCKER_ONLY,
    help: 'Directory of network configurations.',
  },
  {
    key: 'cniCacheDir',
    group: 'Docker only',
    type: 'string',
    default: '/var/lib/cni/cache',
    flags: [{ name: 'cni-cache-dir' }],
    isPath: true,
    acted: DOCKER_ONLY,
    help: 'Directory of the state of network plugins.',
  },
];
