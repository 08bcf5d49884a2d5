/** Token reviews: never stored, and no validation error contains the token. Source: authentication/v1. */
import type { TokenReview } from '#api/gen/authentication-v1.ts';
import type { KindEntry } from '../../contract.ts';
import { kindStrategy } from '../kind.ts';

export const tokenReview: KindEntry = {
  strategy: kindStrategy<TokenReview>({
    validate(errors, { spec }) {
      if ((spec.token ?? '') === '')
        errors.required('spec.token', 'token is required for TokenReview in authentication');
    },
  }),
};
