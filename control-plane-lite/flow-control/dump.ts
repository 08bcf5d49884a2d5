/** Tables of flow control for debugging: levels, queues and waiting requests. Pure. Source: upstream's
 *  apf_controller_debug.go of release 1.24. */
import type { Admission } from './admission.ts';
import type { Level } from './level.ts';
import type { Queue } from './queue.ts';

/** Cells are separated by a comma and padded, as upstream's tab writer does. */
function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, cell.length + 2, 8);
    }
  }
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column + 1 < row.length ? `${cell},`.padEnd(widths[column] ?? 0) : cell))
      .join('');
  return `${rows.map(line).join('\n')}\n`;
}

const NONE = '<none>';
const seatSeconds = (value: number): string => `${value.toFixed(8)}ss`;

function queuesOf({ set }: Level): readonly Queue<Admission>[] {
  return (set?.queues ?? []).filter((queue) => queue !== undefined);
}

export function dumpLevels(levels: readonly Level[]): string {
  const head = [
    'PriorityLevelName',
    'ActiveQueues',
    'IsIdle',
    'IsQuiescing',
    'WaitingRequests',
    'ExecutingRequests',
  ];
  const rows = levels.map((level) => {
    const { name, set } = level;
    if (set === undefined) return [name, NONE, NONE, NONE, NONE, NONE];
    const active = queuesOf(level).filter(({ length }) => length > 0).length;
    return [name, active, set.isIdle, level.quiescing, set.waiting, set.executing].map(String);
  });
  return table([head, ...rows]);
}

export function dumpQueues(levels: readonly Level[]): string {
  const head = [
    'PriorityLevelName',
    'Index',
    'PendingRequests',
    'ExecutingRequests',
    'SeatsInUse',
    'NextDispatchR',
    'InitialSeatsSum',
    'MaxSeatsSum',
    'TotalWorkSum',
  ];
  const rows = levels.flatMap((level) => {
    if (level.set === undefined) return [[level.name, ...head.slice(1).map(() => NONE)]];
    return queuesOf(level).map((queue) => [
      level.name,
      String(queue.index),
      String(queue.length),
      String(queue.executing),
      String(queue.seatsInUse),
      seatSeconds(queue.nextR),
      String(queue.waitingInitialSeats),
      String(queue.waitingSeats),
      seatSeconds(queue.waitingWork),
    ]);
  });
  return table([head, ...rows]);
}

function waitingIn(queue: Queue<Admission>): readonly Admission[] {
  const requests: Admission[] = [];
  for (let item = queue.first; item !== undefined; item = item.place.next) requests.push(item);
  return requests;
}

export interface RequestDumpOptions {
  readonly details: boolean;
  /** Wall time of a monotonic time, both in ms. */
  readonly wallTime: (monotonicMs: number) => number;
}

const detailsOf = ({ userName, info }: Admission): readonly string[] => [
  userName,
  info.verb,
  info.path,
  info.namespace,
  info.name,
  info.group === '' ? info.version : `${info.group}/${info.version}`,
  info.resource,
  info.subresource,
];

export function dumpRequests(levels: readonly Level[], { details, wallTime }: RequestDumpOptions): string {
  const head = [
    'PriorityLevelName',
    'FlowSchemaName',
    'QueueIndex',
    'RequestIndexInQueue',
    // Upstream's spelling.
    'FlowDistingsher',
    'ArriveTime',
    'InitialSeats',
    'FinalSeats',
    'AdditionalLatency',
  ];
  const more = ['UserName', 'Verb', 'APIPath', 'Namespace', 'Name', 'APIVersion', 'Resource', 'SubResource'];
  const rows = levels.flatMap((level) =>
    queuesOf(level).flatMap((queue) =>
      waitingIn(queue).map((request, index) => [
        level.name,
        request.flow.name,
        String(queue.index),
        String(index),
        request.distinguisher,
        new Date(wallTime(request.place.arrivedMs)).toISOString(),
        String(request.initialSeats),
        String(request.finalSeats),
        `${request.finalMs}ms`,
        ...(details ? detailsOf(request) : []),
      ]),
    ),
  );
  return table([details ? [...head, ...more] : head, ...rows]);
}
