import { expect, test } from 'vitest';
import { containerIdOf, parseOomKill } from './kernel-message.ts';

const ID = 'ab'.repeat(32);
const kill = (rest: string): string => `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),${rest}`;

test.each([
  [
    'of a container',
    `6,1,2,-;${kill(`cpuset=${ID},mems_allowed=0,oom_memcg=/p/podU/${ID},task_memcg=/p/podU/${ID},task=tail,pid=41,uid=0`)}\n`,
    { limitedBy: `/p/podU/${ID}`, cgroup: `/p/podU/${ID}`, process: 'tail', pid: 41 },
  ],
  [
    'of a pod',
    `6,1,2,-;${kill(`cpuset=/,mems_allowed=0,oom_memcg=/p/podU,task_memcg=/p/podU/${ID},task=sh,pid=9,uid=7`)}`,
    { limitedBy: '/p/podU', cgroup: `/p/podU/${ID}`, process: 'sh', pid: 9 },
  ],
  [
    'of the machine',
    `6,1,2,-;${kill('cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=hog,pid=5,uid=0')}`,
    { limitedBy: undefined, cgroup: '/user.slice', process: 'hog', pid: 5 },
  ],
  [
    'of a process that calls itself oddly',
    `6,1,2,-;${kill('cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=x,pid=1,uid=0,pid=5,uid=0')}`,
    { limitedBy: undefined, cgroup: '/', process: 'x,pid=1,uid=0', pid: 5 },
  ],
])('parses the kill %s', (_, record, expected) => {
  expect(parseOomKill(record)).toEqual(expected);
});

test.each([
  ['something else', '6,1,2,-;eth0: link up'],
  [
    'what a program wrote',
    `14,1,2,-;${kill('cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=x,pid=5,uid=0')}`,
  ],
  ['nothing', ''],
  ['half of a record', '6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG'],
])('ignores %s', (_, record) => {
  expect(parseOomKill(record)).toBeUndefined();
});

test('finds the container of a cgroup, of either driver and below it', () => {
  expect(containerIdOf(`/p.slice/cri-containerd-${ID}.scope`)).toBe(ID);
  expect(containerIdOf(`/p/podU/${ID}/inner`)).toBe(ID);
  expect(containerIdOf('/user.slice')).toBeUndefined();
});
