import { forReader, say, words } from '../../util/safe-text.js';
import { callAgain, type Next, next as nextStep } from '../next.js';
import type { Summary } from './sentences.js';

/** The advised time until the next call (seconds). */
const shortestWait = 30;
const longestWait = 600;

const findOutWhether = forReader({ agent: 'Ask the user whether', person: 'Check whether' });
const abortAdvice = forReader({
  agent: 'if they want the upload gone, call abort_multipart_upload',
  person: 'abort_multipart_upload deletes the upload',
});

/** Returns the step after the summary of an upload. */
export function nextOfUpload(summary: Summary, canAbort: boolean): Next {
  const { partCount = 0, percent, stopped, secondsLeft, isListed } = summary;
  // The client still has to send the request that makes the parts an object.
  if (percent === 100) {
    const tell = forReader({ agent: 'Tell the user that the', person: 'The' });
    return nextStep('user', 'check', say`${tell} client that uploads has to complete it: no tool here does.`);
  }
  if (isListed === false)
    return nextStep(
      'user',
      'ask',
      say`${findOutWhether} the upload was completed: then the object exists. Otherwise check bucket, object and uploadId.`,
    );
  if (partCount === 0)
    return nextStep(
      'user',
      'ask',
      say`${findOutWhether} the client that uploads has begun to send parts, and what its log says.`,
    );
  if (stopped === true) {
    const howToAbort = canAbort ? abortAdvice : words('the person who runs this server can abort the upload');
    return nextStep(
      'user',
      'ask',
      say`${findOutWhether} the client that uploads still runs. If it does, its log says why it waits. If not, it can be started again with the same upload ID; ${howToAbort}.`,
    );
  }
  const wait = Math.min(Math.max(Math.round((secondsLeft?.from ?? 0) / 10), shortestWait), longestWait);
  const toFollow = forReader({ agent: 'If the user wants to', person: 'To' });
  return nextStep(
    'agent',
    'wait',
    say`${toFollow} follow it, ${callAgain} with the same arguments in about ${wait} s.`,
  );
}
