/** Descriptions of the metrics API. Data. */
import type { Texts } from './texts.ts';

const timestamp = 'End of the window over which usage was measured.';
const window = 'Length of the window over which CPU usage was measured.';
const usage = 'CPU usage in cores, averaged over the window, and the memory working set in bytes at its end.';

export const METRICS_TEXTS: Texts = {
  'metrics/v1beta1.NodeMetrics': {
    is: 'Resource usage of a node.',
    members: { timestamp, window, usage },
  },
  'metrics/v1beta1.PodMetrics': {
    is: 'Resource usage of the containers of a pod.',
    members: { timestamp, window, containers: 'Usage of each container, measured over the same window.' },
  },
  'metrics/v1beta1.ContainerMetrics': {
    is: 'Resource usage of a container.',
    members: { name: 'Name of the container in the pod.', usage },
  },
};
