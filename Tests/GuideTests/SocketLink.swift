import Dispatch
import DunlinKit
import Foundation
import Synchronization

/// A link over one end of a connected stream socket, for example of `socketpair`.
// SAFETY: all that changes is used on the queue only, except the figures, which a mutex protects.
final class SocketLink: DunlinLink, @unchecked Sendable {
  /// While this much waits to be sent, the link does not read.
  private static let unsentBytes = 32 << 20
  /// Makes a write to a closed peer an error of the call, and no signal.
  #if canImport(Darwin)
    private static let sendFlags: Int32 = 0
  #else
    private static let sendFlags = Int32(MSG_NOSIGNAL)
  #endif

  let endpoint: LinkEndpoint
  let executor: any LinkExecutor
  private let socket: Int32
  private let queue: DispatchQueue
  private let figures = Mutex(LinkStatistics())

  private var user: (any LinkUser)?
  private var reader: Source?
  private var writer: Source?
  private var unsent: [UInt8] = []
  /// How many of these bytes were sent.
  private var sent = 0
  private var isFinishing = false
  private var closed: LinkError?
  private var ended: Set<LinkDirection> = []

  init(_ socket: Int32, address: String) {
    self.socket = socket
    endpoint = LinkEndpoint(kind: "socket", address: address)
    queue = DispatchQueue(label: "SocketLink")
    executor = QueueExecutor(queue)
    _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
    #if canImport(Darwin)
      var isOn: Int32 = 1
      setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  deinit { Foundation.close(socket) }

  var statistics: LinkStatistics { figures.withLock { $0 } }

  // MARK: - Calls from any thread

  func attach(_ user: any LinkUser) {
    queue.async { [self] in
      self.user = user
      reader = Source(DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)) { self.receive() }
      writer = Source(DispatchSource.makeWriteSource(fileDescriptor: socket, queue: queue)) { self.send() }
      if let closed { return end(closed) }
      reader?.resume()
      send()
    }
  }

  func write(_ pieces: [[UInt8]]) {
    queue.async { [self] in
      guard !isFinishing, closed == nil, !ended.contains(.outbound) else { return }
      for piece in pieces { unsent += piece }
      figures.withLock { $0.sentBytes += UInt64(pieces.reduce(0) { $0 + $1.count }) }
      send()
    }
  }

  func resumeReading() { queue.async { self.receive() } }

  func finishWriting() {
    queue.async { [self] in
      isFinishing = true
      send()
    }
  }

  func close(_ reason: LinkError) {
    queue.async { [self] in
      guard closed == nil else { return }
      closed = reason
      if user != nil { end(reason) } else { shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  // MARK: - On the queue

  private func receive() {
    guard let user, !ended.contains(.inbound) else { return }
    while user.hasRoom, unsent.count - sent < Self.unsentBytes, !ended.contains(.inbound) {
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      let count = read(socket, &buffer, buffer.count)
      switch (count, errno) {
      case (1..., _):
        figures.withLock { $0.receivedBytes += UInt64(count) }
        user.received(Array(buffer[..<count]))
      case (0, _): return end(.inbound, nil)
      case (_, EAGAIN): return reader?.resume() ?? ()
      case (_, EINTR): continue
      case (_, let error): return end(broken(error))
      }
    }
    // The user calls `resumeReading` when it has room again.
    reader?.suspend()
  }

  private func send() {
    guard user != nil, !ended.contains(.outbound) else { return }
    while sent < unsent.count {
      let count = unsent[sent...].withUnsafeBytes {
        Foundation.send(socket, $0.baseAddress, $0.count, Self.sendFlags)
      }
      switch (count, errno) {
      case (0..., _): dropSent(count)
      case (_, EAGAIN): return writer?.resume() ?? ()
      case (_, EINTR): continue
      case (_, let error): return end(broken(error))
      }
    }
    writer?.suspend()
    if isFinishing {
      shutdown(socket, Int32(SHUT_WR))
      end(.outbound, nil)
    }
  }

  /// Drops the bytes that were sent, and reads again if reading had stopped because too much waited.
  private func dropSent(_ count: Int) {
    let wasFull = unsent.count - sent >= Self.unsentBytes
    sent += count
    if wasFull, unsent.count - sent < Self.unsentBytes { queue.async { self.receive() } }
    guard sent * 2 >= unsent.count else { return }
    unsent.removeFirst(sent)
    sent = 0
  }

  private func broken(_ error: Int32) -> LinkError {
    LinkError(.disconnected, "The socket to \(endpoint.address) broke", underlying: error)
  }

  /// Ends both directions with an error, unless they have ended.
  private func end(_ error: LinkError) {
    shutdown(socket, Int32(SHUT_RDWR))
    (unsent, sent) = ([], 0)
    end(.inbound, error)
    end(.outbound, error)
  }

  /// Reports the end of one direction to the user, once, and releases the user after both ends.
  private func end(_ direction: LinkDirection, _ error: LinkError?) {
    guard let user, ended.insert(direction).inserted else { return }
    (direction == .inbound ? reader : writer)?.cancel()
    user.ended(direction, error)
    guard ended.count == 2 else { return }
    (self.user, reader, writer) = (nil, nil, nil)
  }
}

/// A dispatch queue as a link's executor.
struct QueueExecutor: LinkExecutor {
  private static let key = DispatchSpecificKey<ObjectIdentifier>()

  private let queue: DispatchQueue

  init(_ queue: DispatchQueue) {
    self.queue = queue
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(queue))
  }

  func execute(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(queue) }
}

/// A dispatch source that may be suspended and resumed any number of times; used on its queue only.
private final class Source {
  private let source: any DispatchSourceProtocol
  private var isRunning = false

  init(_ source: any DispatchSourceProtocol, _ handler: @escaping () -> Void) {
    self.source = source
    source.setEventHandler(handler: handler)
  }

  func resume() {
    if !isRunning { source.resume() }
    isRunning = true
  }

  func suspend() {
    if isRunning { source.suspend() }
    isRunning = false
  }

  /// Cancels the source, which must run for that.
  func cancel() {
    source.cancel()
    resume()
  }
}
