/// A moment between two looks at something that is to come, in which the processor is free for what is to bring it.
package func pause() async { try? await Task.sleep(for: .milliseconds(1)) }
