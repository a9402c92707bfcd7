package import CRDTCore

/// Finds the sites of a store that are not in memory, and caches those found most recently.
///
/// It may be used from any thread. It reads the last commit, whichever snapshot asks. That is safe because no
/// record of any open snapshot named a site when it was removed.
package final class SiteArchive: StoredSites, Sendable {
  private struct Weak {
    weak var environment: Environment?
  }

  private struct State {
    /// The current environment last; earlier ones as long as snapshots are open on them.
    var environments: [Weak] = []
    /// By ordinal, modulo the capacity; empty until the first look-up.
    var found: [(ordinal: UInt32, site: SiteID)] = []
  }

  private let state = Monitor(State())

  /// The number of cached sites.
  private static let capacity = 4_096
  /// How many sites are read at a time, because those of one document are mostly consecutive.
  private static let readAhead = 64

  init(_ environment: Environment) { adopt(environment) }

  /// Continues in another environment with the same contents.
  func adopt(_ environment: Environment) {
    state.withLock { state in
      state.environments.removeAll { $0.environment == nil }
      state.environments.append(Weak(environment: environment))
    }
  }

  /// Whether snapshots are open on an earlier environment.
  var hasFormer: Bool { state.withLock { $0.environments.dropLast().contains { $0.environment != nil } } }

  package func site(_ ordinal: UInt32) -> SiteID? {
    let slot = Int(ordinal) % Self.capacity
    let (known, environment) = state.withLock { state in
      (
        state.found.isEmpty || state.found[slot].ordinal != ordinal ? nil : state.found[slot].site,
        state.environments.last?.environment
      )
    }
    if let known { return known }
    guard let environment, ordinal > 0 else { return nil }
    let found = read(ordinal, environment)
    guard let site = found.first, site.ordinal == ordinal else { return nil }
    state.withLock { state in
      if state.found.isEmpty { state.found = Array(repeating: (0, .zero), count: Self.capacity) }
      for site in found { state.found[Int(site.ordinal) % Self.capacity] = (site.ordinal, site.site) }
    }
    return site.site
  }

  /// The next sites from an ordinal, as far as they can be read.
  private func read(_ ordinal: UInt32, _ environment: Environment) -> [StoredSite] {
    var found: [StoredSite] = []
    guard let reader = try? environment.beginRead(isNested: true) else { return [] }
    defer { environment.recycle(reader) }
    try? reader.access.eachSite(environment.tables, from: Int(ordinal)) { site in
      found.append(site)
      return found.count < Self.readAhead
    }
    return found
  }
}
