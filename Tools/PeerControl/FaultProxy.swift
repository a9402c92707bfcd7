import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A line between two peers that can be cut, stalled and throttled: a TCP proxy on a free local port.
///
/// Each connection has two threads, one for each way, that pass on what they read as the line's state allows.
package final class FaultProxy: Sendable {
  /// The two ways of a line.
  package enum Way: Int, CaseIterable, Sendable { case forth, back }

  private struct State {
    var target: Int
    var isClosed = false
    /// Bytes a second of each way; 0 is as fast as it goes.
    var rate = 0
    var stalled: Set<Way> = []
    /// Bytes that still pass before the connection is cut.
    var bytesUntilCut: Int?
    /// Connections that were made.
    var connections = 0
    var flipsNext = false
    var flips = 0
    /// Raised by each cut: connections of an older number end.
    var generation = 0
    var sockets: Set<Int32> = []
  }

  package let port: Int
  private let listener: Int32
  /// Bytes after which each connection is cut.
  private let bytesEach: Int?
  private let state: Mutex<State>

  /// A line to a port of this machine, which may change later.
  ///
  /// With `bytesEach` no connection lasts for more bytes than that.
  package init(to target: Int, bytesEach: Int? = nil) throws {
    self.bytesEach = bytesEach
    let handle = Self.tcpSocket()
    listener = handle
    var address = Self.loopback(0)
    var count = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(handle, $0, count) == 0 && listen(handle, 16) == 0 && getsockname(handle, $0, &count) == 0
      }
    }
    guard handle >= 0, bound else { throw PeerError("a proxy cannot listen: errno \(errno)") }
    port = Int(UInt16(bigEndian: address.sin_port))
    state = Mutex(State(target: target))
    Thread.detachNewThread { self.acceptAll() }
  }

  /// Where connections lead from now on.
  package func lead(to target: Int) { state.withLock { $0.target = target } }

  /// Lets so many bytes a second pass each way; 0 is as fast as it goes.
  package func throttle(to rate: Int) { state.withLock { $0.rate = rate } }

  /// Holds back what comes on some ways, until told otherwise.
  package func stall(_ ways: Set<Way>) { state.withLock { $0.stalled = ways } }

  /// Resets the connections there are, once so many bytes more have passed.
  package func cut(after bytes: Int) {
    state.withLock { state in
      if bytes > 0 { state.bytesUntilCut = bytes } else { Self.cutNow(&state) }
    }
  }

  /// Changes one bit of what passes next.
  package func flip() { state.withLock { $0.flipsNext = true } }

  /// Connections made so far.
  package var connections: Int { state.withLock { $0.connections } }

  /// Bits changed so far.
  package var flips: Int { state.withLock { $0.flips } }

  /// Lets everything pass, as fast as it goes.
  package func heal() {
    state.withLock { state in
      state.rate = 0
      state.stalled = []
      state.bytesUntilCut = nil
      state.flipsNext = false
    }
  }

  package func close() {
    state.withLock { state in
      state.isClosed = true
      Self.cutNow(&state)
    }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private static func cutNow(_ state: inout State) {
    state.generation += 1
    state.bytesUntilCut = nil
    // A reset, not an end: whoever reads has an error.
    for socket in state.sockets {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
      shutdown(socket, Int32(SHUT_RDWR))
    }
  }

  private func acceptAll() {
    while true {
      let near = accept(listener, nil, nil)
      let (target, isClosed, generation) = state.withLock { ($0.target, $0.isClosed, $0.generation) }
      guard near >= 0, !isClosed else { break }
      state.withLock { state in
        state.connections += 1
        state.bytesUntilCut = bytesEach ?? state.bytesUntilCut
      }
      let far = Self.tcpSocket()
      var address = Self.loopback(target)
      let connected = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(far, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      guard connected else {
        Foundation.close(near)
        Foundation.close(far)
        continue
      }
      carry(near, far, generation)
    }
    Foundation.close(listener)
  }

  /// Passes bytes both ways until either side, or a cut, ends it.
  private func carry(_ near: Int32, _ far: Int32, _ generation: Int) {
    for socket in [near, far] {
      var yes: Int32 = 1
      setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
      var wait = timeval(tv_sec: 0, tv_usec: 20_000)
      setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
    }
    state.withLock { _ = ($0.sockets.insert(near), $0.sockets.insert(far)) }
    let ending = EndOfConnection { [self] in
      state.withLock { state in
        state.sockets.subtract([near, far])
        Foundation.close(near)
        Foundation.close(far)
      }
    }
    for (way, from, to) in [(Way.forth, near, far), (Way.back, far, near)] {
      Thread.detachNewThread { [self] in
        pass(way, from, to, generation)
        shutdown(near, Int32(SHUT_RDWR))
        shutdown(far, Int32(SHUT_RDWR))
        ending.count()
      }
    }
  }

  private func pass(_ way: Way, _ from: Int32, _ to: Int32, _ generation: Int) {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let (rate, isStalled, isOver) = state.withLock { state in
        (state.rate, state.stalled.contains(way), state.isClosed || state.generation != generation)
      }
      if isOver { return }
      if isStalled {
        usleep(5_000)
        continue
      }
      // A throttled line moves a fiftieth of a second at a time.
      let room = rate > 0 ? max(1, min(buffer.count, rate / 50)) : buffer.count
      let count = recv(from, &buffer, room, 0)
      if count < 0, errno == EAGAIN || errno == EINTR { continue }
      guard count > 0 else { return }
      guard passOn(&buffer, count, to) else { return }
      if rate > 0 { usleep(UInt32(count * 1_000_000 / rate)) }
    }
  }

  /// - Returns: Whether the connection goes on.
  private func passOn(_ buffer: inout [UInt8], _ count: Int, _ to: Int32) -> Bool {
    let (allowed, flips) = state.withLock { state in
      let allowed = min(count, state.bytesUntilCut ?? count)
      state.bytesUntilCut = state.bytesUntilCut.map { $0 - allowed }
      defer {
        if state.flipsNext { state.flips += 1 }
        state.flipsNext = false
      }
      return (allowed, state.flipsNext)
    }
    if flips { buffer[count / 2] ^= 0x10 }
    var sent = 0
    while sent < allowed {
      let written = buffer[sent..<allowed].withUnsafeBytes {
        send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { return false }
      sent += written
    }
    if allowed < count { state.withLock { Self.cutNow(&$0) } }
    return allowed == count
  }

  private static func tcpSocket() -> Int32 { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }

  private static func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}

/// Runs something once both threads of a connection are through.
private final class EndOfConnection: Sendable {
  private let running = Mutex(2)
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  func count() {
    let isLast = running.withLock { running in
      running -= 1
      return running == 0
    }
    if isLast { body() }
  }
}
