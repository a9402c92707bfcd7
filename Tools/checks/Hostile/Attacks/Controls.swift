import CRDTCore
import Glibc
import PeerControl

/// Rows that show whether the measuring works.
enum Controls {
  /// Nobody attacks, so nothing may be missed.
  static let idle = Row("control-idle", "nothing") { _ in
    { scene in await scene.hostile { $0.pause(.seconds(2)) } }
  }

  /// The victim stands still for a second, which honest writes must show.
  static let stopped = Row("control-stopped", "the victim is stopped for 1 s", mustMiss: true) { _ in
    { scene in
      kill(scene.victim.processID, SIGSTOP)
      await scene.hostile { $0.pause(.seconds(1)) }
      kill(scene.victim.processID, SIGCONT)
    }
  }

  /// The victim itself takes 200 MiB, which must be found.
  static let held = Row("control-held", "the victim holds 200 MiB by itself", mustMiss: true) { _ in
    { scene in
      try await scene.victim.ask("hold", ["bytes": .int(200 << 20)])
      await scene.hostile { $0.pause(.milliseconds(500)) }
    }
  }
}
