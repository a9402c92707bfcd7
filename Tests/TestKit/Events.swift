/// The events that a handler was called with, one by one.
public struct Events<Event: Sendable>: Sendable {
  /// Is to be called with each event, from any thread.
  public let send: @Sendable (Event) -> Void
  private let stream: AsyncStream<Event>

  /// Without events yet.
  public init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
    self.stream = stream
    send = { continuation.yield($0) }
  }

  /// Takes as many events as are asked for.
  ///
  /// - Parameter count: How many, at least one.
  /// - Returns: The events in their order; fewer if the task is cancelled.
  public func next(_ count: Int) async -> [Event] {
    var events: [Event] = []
    for await event in stream {
      events.append(event)
      if events.count == count { break }
    }
    return events
  }
}
