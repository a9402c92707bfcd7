import Links

/// A byte string in which every position is told from its neighbours.
func pattern(_ count: Int, from start: Int = 0) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count)
  while bytes.count < count {
    let offset = (start + bytes.count) % patternPeriod.count
    bytes += patternPeriod[offset...].prefix(count - bytes.count)
  }
  return bytes
}

/// After which the pattern begins anew.
private let patternPeriod: [UInt8] = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 >> 8) }

/// Receives until `count` bytes have come or the peer has ended.
func receive(_ count: Int, from link: any AwaitedLink) async throws -> [UInt8] {
  var bytes: [UInt8] = []
  while bytes.count < count, let chunk = try await link.receive() { bytes += chunk }
  return bytes
}

/// Runs `operation` and gives back the link error it threw.
func linkError(_ operation: () async throws -> Void) async -> LinkError? {
  do {
    try await operation()
    return nil
  } catch {
    return error as? LinkError
  }
}
