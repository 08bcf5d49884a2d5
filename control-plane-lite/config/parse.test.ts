import { describe, expect, test } from 'vitest';
import { upstreamAgentFlag } from '#api/vocabulary.ts';
import { IGNORED_FLAGS } from './ignored.ts';
import { ConfigError, configWarnings, createParser, describeProblem, parseConfig } from './parse.ts';
import { SETTINGS } from './settings.ts';

describe('parseConfig', () => {
  test('has a value for everything', () => {
    const config = parseConfig([]);
    expect(Object.keys(config).toSorted()).toEqual([...Object.keys(SETTINGS), 'setInVain'].toSorted());
    expect(config).toMatchObject({
      securePort: 6443,
      requestTimeout: 60_000,
      authorizationMode: ['Node', 'RBAC'],
      anonymousAuth: true,
    });
  });

  test.each<[readonly string[], object]>([
    [['--secure-port=7443'], { securePort: 7443 }],
    [['--secure-port', '0'], { securePort: 0 }],
    [['--etcd-servers=http://a:1,http://b:2'], { etcdServers: ['http://a:1', 'http://b:2'] }],
    [['--cert-sans', 'a', '--cert-sans', 'b'], { certSANs: ['a', 'b'] }],
    [['--no-anonymous-auth'], { anonymousAuth: false }],
    [['--anonymous-auth=false'], { anonymousAuth: false }],
    [['--authorization-mode=AlwaysAllow'], { anonymousAuth: false }],
    [['--authorization-mode=RBAC,AlwaysAllow'], { anonymousAuth: false }],
    [['--authorization-mode=AlwaysDeny'], { anonymousAuth: true }],
    [['--authorization-mode=AlwaysAllow', '--anonymous-auth=true'], { anonymousAuth: true }],
    [['--authorization-mode=AlwaysAllow', '--anonymous-auth'], { anonymousAuth: true }],
    [['--authorization-mode=AlwaysAllow', '--no-anonymous-auth'], { anonymousAuth: false }],
    [['--request-timeout=1m30s'], { requestTimeout: 90_000 }],
    [['--etcd-compaction-interval=1m'], { etcdCompactionInterval: 60_000 }],
    [[`--${upstreamAgentFlag('nodeagent-timeout')}=7s`], { nodeagentTimeout: 7000 }],
    [['--controllers=*,-job'], { controllers: ['*', '-job'] }],
    [['--vocabulary=kubernetes'], { vocabulary: 'kubernetes' }],
    [['--goaway-chance=0.001'], { goawayChance: 0.001 }],
    [['--watch-cache', '--etcd-db-metric-poll-interval=30s'], { securePort: 6443 }],
  ])('%j', (argv, expected) => {
    expect(parseConfig(argv)).toMatchObject(expected);
  });

  test.each<[readonly string[], readonly RegExp[]]>([
    [
      ['--secure-port=x', '--request-timeout=y'],
      [/--secure-port: "x"/, /--request-timeout: "y"/],
    ],
    [['--secure-port=70000'], [/from 0 to 65535/]],
    [['--goaway-chance=0.5'], [/--goaway-chance: "0.5" is not a number from 0 to 0.02/]],
    [['--vocabulary=latin'], [/"latin" is none of plat, kubernetes/]],
    [['--authorization-mode=RBAC,Rbac'], [/"Rbac" is none of/]],
    [['--authorization-mode=RBAC,RBAC'], [/more than once/]],
    [['--authorization-mode=RBAC,ABAC'], [/ABAC requires --authorization-policy-file/]],
    [['--authorization-mode=Webhook'], [/Webhook requires --authorization-webhook-config-file/]],
    [
      ['--authorization-policy-file=a', '--authorization-webhook-config-file=b'],
      [/without mode ABAC/, /without mode Webhook/],
    ],
    [['--authorization-webhook-version=v2'], [/"v2" is none of v1, v1beta1/]],
    [['--tls-cert-file=a'], [/must be given together/]],
    [['--secure-port=1', '--secure-port=2'], [/more than once/]],
    [['--no-such-flag'], [/no-such-flag/]],
    [['--feature-gates=NoSuch=true'], [/NoSuch/]],
    [['--controllers=*,-jobs'], [/"-jobs" names no controller/]],
    [['--feature-gates=AppArmor'], [/is not name=true/]],
    [['--audit-policy-file=p'], [/without --audit-log-path/]],
  ])('%j is rejected with all its errors', (argv, patterns) => {
    let problems: readonly string[] = [];
    try {
      parseConfig(argv);
    } catch (error) {
      problems = error instanceof ConfigError ? error.problems : [String(error)];
    }
    expect(problems).toHaveLength(patterns.length);
    for (const [index, pattern] of patterns.entries()) expect(problems[index]).toMatch(pattern);
  });

  test('gates without effect are named', () => {
    const warningsOf = (gates: string): readonly string[] =>
      configWarnings(parseConfig([`--feature-gates=${gates}`]));
    expect(warningsOf('CronJobTimeZone=true,AllAlpha=true')).toEqual([]);
    // These request the default behaviour.
    expect(warningsOf('HonorPVReclaimPolicy=false')).toEqual([]);
    expect(warningsOf('OpenAPIV3=false,WinDSR=true,CPUManager=true')).toEqual([
      'Without effect, ignored: feature gate WinDSR (nodes run Linux), feature gate CPUManager (a gate of nodeagent)',
    ]);
  });

  test('flags without effect are named with the reason, unless they ask for what is so anyway', () => {
    const warningsOf = (...argv: readonly string[]): readonly string[] => configWarnings(parseConfig(argv));
    expect(warningsOf('--watch-cache', '--storage-backend=etcd3', '--service-account-lookup')).toEqual([]);
    expect(warningsOf('--watch-cache=false', '--cloud-provider', 'aws')).toEqual([
      'Without effect, ignored: --cloud-provider (no cloud provider is built in), --watch-cache (the cache holds every object and all changes since the last compaction)',
    ]);
  });

  test('no flag is both with and without effect', () => {
    const flags = new Set(Object.values(SETTINGS).map(({ flag }) => flag));
    expect([...IGNORED_FLAGS.keys()].filter((flag) => flags.has(flag))).toEqual([]);
  });

  test('describes each flag in its own words', () => {
    const helps = Object.values(SETTINGS).map(({ help }) => help);
    expect(helps.filter((help, index) => helps.indexOf(help) !== index)).toEqual([]);
  });

  test('helps with every flag', async () => {
    const help = await createParser([]).getHelp();
    for (const { flag } of Object.values(SETTINGS)) expect(help).toContain(`-${flag}`);
  });
});

describe('an unknown flag is reported with the probable one', () => {
  test.each<[readonly string[], readonly string[]]>([
    [['--secure-prt', '1'], ['--secure-prt: unknown flag; did you mean --secure-port?']],
    [
      ['--data-dirr=/x', '--nothing-like-it'],
      ['--data-dirr: unknown flag; did you mean --data-dir?', '--nothing-like-it: unknown flag'],
    ],
    [['--no-such'], ['--no-such: unknown flag']],
    [['bakup', 'file'], ['"bakup": unknown command; did you mean backup?']],
  ])('%j', (argv, expected) => {
    const problems: unknown = expect.arrayContaining([...expected]);
    expect(() => parseConfig(argv)).toThrow(expect.objectContaining({ name: 'ConfigError', problems }));
  });

  test('every flag with a letter less is found again', () => {
    for (const { flag } of Object.values(SETTINGS).filter((setting) => setting.flag.length > 3)) {
      const typo = flag.slice(0, -1);
      const [problem = ''] = describeProblem(`Unknown argument: ${typo}`, [`--${typo}`]);
      expect(problem).toMatch(/did you mean --/);
    }
  });

  test('other messages of the parser stay', () => {
    expect(describeProblem('Not enough arguments following: a', ['--a'])).toEqual([
      'Not enough arguments following: a',
    ]);
  });
});
