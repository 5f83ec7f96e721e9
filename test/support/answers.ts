/** The body of an answer; of one that goes on as long as the client stays, what comes first. */
export async function bodyOf(answer: Response): Promise<Buffer> {
  if (!answer.headers.get("content-type")?.startsWith("text/event-stream"))
    return Buffer.from(await answer.arrayBuffer());
  const reader = answer.body!.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return Buffer.from(value ?? []);
}
