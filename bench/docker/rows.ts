/** Rows of the agent on docker, relative to plain calls of docker in the same run. */
import type { RowOn } from '../row.ts';
import { idleCpu } from '../rows/idle.ts';
import { manyPods } from '../rows/many-pods.ts';
import { podStart } from '../rows/pod-start.ts';
import type { StartBench } from '../setup.ts';

const onDocker = (row: RowOn<StartBench>): RowOn<StartBench> => ({
  ...row,
  name: `docker-${row.name}`,
  title: `docker: ${row.title}`,
});

export const DOCKER_ROWS: readonly RowOn<StartBench>[] = [podStart, manyPods, idleCpu].map(onDocker);
