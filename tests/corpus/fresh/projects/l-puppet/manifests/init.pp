class web {
  package { "nginx":
    ensure => 'latest',
    provider => apt,
  }
	file { '/etc/x': mode => '644', }
}
