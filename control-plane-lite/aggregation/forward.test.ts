import { describe, expect, test } from 'vitest';
import { parseRequestInfo, splitTarget } from '../http/request/request-info.ts';
import { targetPath } from './forward.ts';

describe('targetPath', () => {
  test.each([
    ['/apis/g/v1/widgets', '/apis/g/v1/widgets'],
    ['/apis/g/v1/widgets?a=b%20c&d', '/apis/g/v1/widgets?a=b%20c&d'],
    ['/apis/g/v1/namespaces/n%2Fwidgets/x', '/apis/g/v1/namespaces/n/widgets/x'],
    ['/apis/g/v1/widgets/a%3Fb%23c%25d%20e', '/apis/g/v1/widgets/a%3Fb%23c%25d%20e'],
    ['/apis/g/v1/widgets/a:b@c', '/apis/g/v1/widgets/a:b@c'],
    ['/apis/g/v1/widgets/%C3%A9', '/apis/g/v1/widgets/%C3%A9'],
  ])('%s', (target, expected) => {
    const { path } = splitTarget(target);
    const found = targetPath(parseRequestInfo('GET', path, undefined).path, target);
    expect(found).toBe(expected);
    const again = parseRequestInfo('GET', splitTarget(found).path, undefined);
    expect(again).toEqual(parseRequestInfo('GET', path, undefined));
  });
});
